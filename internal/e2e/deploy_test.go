package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// settingsOf returns the settings of a node: its flags, and its environment as flags. It reports
// those that `searchd serve` does not have.
func settingsOf(t *testing.T, where string, args []string, env map[string]string) map[string]string {
	t.Helper()
	help, _ := mustRun(t, "searchd", "serve", "--help")
	if len(args) == 0 || args[0] != "serve" {
		t.Fatalf("%s: the command is %q, want serve", where, args)
	}
	set := map[string]string{}
	for name, value := range env {
		if flag, ok := strings.CutPrefix(name, "SEARCHD_"); ok && name != "SEARCHD_ADMIN_KEY" {
			args = append(args, "--"+strings.ToLower(strings.ReplaceAll(flag, "_", "-"))+"="+value)
		}
	}
	for _, arg := range args[1:] {
		flag, value, ok := strings.Cut(arg, "=")
		if !ok || !strings.Contains(help, flag+" ") {
			t.Errorf("%s: searchd serve does not have %q", where, arg)
		}
		set[flag] = value
	}
	if _, guarded := env["SEARCHD_ADMIN_KEY"]; !guarded {
		t.Errorf("%s: there is no API key, and the address is not loopback: the server would not start", where)
	}
	return set
}

// checkNode checks the settings of one of three nodes whose API has a port.
func checkNode(t *testing.T, where string, set map[string]string, peers []string, mounts map[string]bool) {
	t.Helper()
	if set["--cluster"] == "" || set["--node-name"] == "" {
		t.Errorf("%s: --cluster %q, --node-name %q", where, set["--cluster"], set["--node-name"])
	}
	if got := strings.Split(set["--peers"], ","); !slices.Equal(got, peers) || !slices.Contains(peers, set["--node-addr"]) {
		t.Errorf("%s: --node-addr %s with --peers %s, want one of %s", where, set["--node-addr"], got, peers)
	}
	for flag, file := range map[string]string{"--node-cert": "tls.crt", "--node-key": "tls.key", "--node-ca": "ca.crt"} {
		if path := set[flag]; filepath.Base(path) != file || !mounts[path] {
			t.Errorf("%s: %s %s: no such file is mounted", where, flag, path)
		}
	}
	if !mounts["/data"] {
		t.Errorf("%s: nothing is mounted at /data", where)
	}
}

// TestComposeFile reads the file of Compose and holds it against the flags of searchd, the image
// and its own names. It does not run containers.
func TestComposeFile(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Build, Hostname string
			Command         []string
			Environment     map[string]string
			Ports, Volumes  []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../deploy/compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	var peers []string
	published := map[string]bool{}
	for name := range file.Services {
		peers = append(peers, name+":6222")
	}
	if slices.Sort(peers); len(peers) != 3 {
		t.Fatalf("%d services, want 3", len(peers))
	}
	for name, s := range file.Services {
		mounts := map[string]bool{}
		for _, v := range s.Volumes {
			from, at, _ := strings.Cut(v, ":")
			at, _, _ = strings.Cut(at, ":")
			mounts[at] = true
			if _, named := file.Volumes[from]; !named && !strings.HasPrefix(from, "./certs/") || named && from != name {
				t.Errorf("%s: volume %s", name, v)
			}
		}
		checkNode(t, name, settingsOf(t, name, s.Command, s.Environment), peers, mounts)
		if s.Hostname != name || len(s.Ports) != 1 || !strings.HasPrefix(s.Ports[0], "127.0.0.1:") || !strings.HasSuffix(s.Ports[0], ":8080") || published[s.Ports[0]] {
			t.Errorf("%s: hostname %q, ports %q", name, s.Hostname, s.Ports)
		}
		published[s.Ports[0]] = true
		if _, err := os.Stat(filepath.Join("../../deploy", s.Build, "Dockerfile")); err != nil {
			t.Error(err)
		}
	}
	image := dockerfile(t)[1]
	if !slices.Contains(image, "EXPOSE 8080") || !slices.Contains(image, "VOLUME /data") {
		t.Errorf("the image %q has another port or volume", image)
	}
}

// object is a part of an object of Kubernetes: what TestKubernetesFile looks at.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ClusterIP                string                                     `yaml:"clusterIP"`
		PublishNotReadyAddresses bool                                       `yaml:"publishNotReadyAddresses"`
		Selector                 map[string]any                             `yaml:"selector"`
		Ports                    []map[string]any                           `yaml:"ports"`
		MaxUnavailable           int                                        `yaml:"maxUnavailable"`
		ServiceName              string                                     `yaml:"serviceName"`
		Replicas                 int                                        `yaml:"replicas"`
		PodManagementPolicy      string                                     `yaml:"podManagementPolicy"`
		Claims                   []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
		Template                 struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
					FSGroup      int  `yaml:"fsGroup"`
				} `yaml:"securityContext"`
				Containers []struct {
					Args []string
					Env  []struct {
						Name      string
						ValueFrom map[string]any `yaml:"valueFrom"`
					}
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					Readiness probe `yaml:"readinessProbe"`
					Liveness  probe `yaml:"livenessProbe"`
					Mounts    []struct {
						Name string
						Path string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name   string
					Secret struct {
						Items []struct{ Key, Path string }
					}
				}
			}
		}
	}
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// TestKubernetesFile reads the objects of Kubernetes and holds them against the flags and routes of
// searchd and against each other. It does not ask a Kubernetes whether it takes them.
func TestKubernetesFile(t *testing.T) {
	text := read(t, "../../deploy/kubernetes.yaml")
	objects := map[string]object{}
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		err := d.Decode(&o)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		objects[o.Kind+" "+o.Metadata.Name] = o
	}
	set := objects["StatefulSet searchd"].Spec
	if nodes := objects["Service "+set.ServiceName].Spec; nodes.ClusterIP != "None" || !nodes.PublishNotReadyAddresses || fmt.Sprint(nodes.Ports[0]["port"]) != "6222" {
		t.Errorf("the service of the nodes is %+v", nodes)
	}
	labels := fmt.Sprint(set.Template.Metadata.Labels)
	for _, selector := range []any{objects["Service searchd"].Spec.Selector, objects["Service "+set.ServiceName].Spec.Selector, set.Selector["matchLabels"],
		objects["PodDisruptionBudget searchd"].Spec.Selector["matchLabels"]} {
		if fmt.Sprint(selector) != labels {
			t.Errorf("a selector is %v, the labels are %s", selector, labels)
		}
	}
	if n := objects["PodDisruptionBudget searchd"].Spec.MaxUnavailable; n != 1 || set.Replicas != 3 || set.PodManagementPolicy != "Parallel" {
		t.Errorf("%d of %d nodes may be away, started %s", n, set.Replicas, set.PodManagementPolicy)
	}
	pod := set.Template.Spec
	if !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.FSGroup == 0 || len(pod.Containers) != 1 {
		t.Fatalf("the pod is %+v", pod)
	}
	c := pod.Containers[0]
	mounts, volumes := map[string]bool{}, map[string][]string{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = nil
		for _, item := range v.Secret.Items {
			volumes[v.Name] = append(volumes[v.Name], item.Path)
		}
	}
	for _, claim := range set.Claims {
		volumes[claim.Metadata.Name] = nil
	}
	for _, m := range c.Mounts {
		files, ok := volumes[m.Name]
		if mounts[m.Path] = true; !ok {
			t.Errorf("volume %s is not there", m.Name)
		}
		for _, f := range files {
			mounts[m.Path+"/"+f] = true
		}
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = fmt.Sprint(e.ValueFrom)
	}
	if !strings.Contains(env["POD_NAME"], "metadata.name") {
		t.Errorf("POD_NAME is %s", env["POD_NAME"])
	}
	var peers []string
	for i := range set.Replicas {
		peers = append(peers, fmt.Sprintf("searchd-%d.%s:6222", i, set.ServiceName))
	}
	for i := range set.Replicas {
		var args []string
		for _, arg := range c.Args {
			args = append(args, strings.ReplaceAll(arg, "$(POD_NAME)", fmt.Sprintf("searchd-%d", i)))
		}
		checkNode(t, fmt.Sprint("node ", i), settingsOf(t, "the pod", args, env), peers, mounts)
	}
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["http"] != 8080 || ports["nodes"] != 6222 || objects["Service searchd"].Spec.Ports[0]["targetPort"] != "http" {
		t.Errorf("ports %v", ports)
	}
	routes := read(t, "../../api/openapi.yaml")
	for want, p := range map[string]probe{"/readyz": c.Readiness, "/livez": c.Liveness} {
		if p.Get.Path != want || p.Get.Port != "http" || !strings.Contains(routes, "\n  "+want+":\n") {
			t.Errorf("a probe asks %+v, want %s", p.Get, want)
		}
	}
}

// TestNodeCertificates makes certificates with the commands that the files of deploy name: they are
// valid for each node, as server and as client.
func TestNodeCertificates(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv("E2E_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, file := range []string{"compose.yaml", "kubernetes.yaml"} {
		m := regexp.MustCompile(`(?m)^#\tdeploy/certs\.sh \S+ (.*)$`).FindStringSubmatch(read(t, "../../deploy/"+file))
		if m == nil {
			t.Fatalf("%s does not say how to make certificates", file)
		}
		dir, names := t.TempDir(), strings.Fields(m[1])
		if out, err := exec.Command("../../deploy/certs.sh", append([]string{dir}, names...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(read(t, filepath.Join(dir, "ca.crt")))) {
			t.Fatal("no authority")
		}
		cert, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(read(t, "../../deploy/"+file), name) {
				t.Errorf("%s has no node %s", file, name)
			}
			for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
				if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, KeyUsages: []x509.ExtKeyUsage{use}}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
