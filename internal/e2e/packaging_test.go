package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/internal/porttest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// dockerfile returns the instructions of the Dockerfile by stage, lines joined, comments left out.
func dockerfile(t *testing.T) (stages [][]string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(read(t, "../../Dockerfile"), "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "FROM ") {
			stages = append(stages, nil)
		}
		if len(stages) == 0 {
			t.Fatalf("%q stands before FROM", line)
		}
		stages[len(stages)-1] = append(stages[len(stages)-1], line)
	}
	return stages
}

// TestDockerfile holds the image to what it promises: a small one without a shell, a user without
// rights, a probe; and starts and asks the programs with the image's own commands and settings, as
// a container would.
func TestDockerfile(t *testing.T) {
	stages := dockerfile(t)
	if len(stages) != 2 || !strings.HasSuffix(stages[0][0], " AS build") || !strings.Contains(stages[1][0], "distroless/static") {
		t.Fatalf("want a stage that builds and a distroless one, got %q", stages)
	}
	instruction := func(name string) string {
		for _, line := range stages[1] {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				return rest
			}
		}
		t.Fatalf("the image has no %s", name)
		return ""
	}
	list := func(text string) (out []string) {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%s: %v: a shell form needs a shell, which is not there", text, err)
		}
		return out
	}
	if user := instruction("USER"); user != "nonroot" {
		t.Errorf("USER %s", user)
	}
	env := map[string]string{}
	for _, pair := range strings.Fields(instruction("ENV")) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	if env["SEARCHD_DATA"] != instruction("VOLUME") || !strings.HasSuffix(env["SEARCHD_ADDR"], ":"+instruction("EXPOSE")) {
		t.Errorf("settings %v, VOLUME %s, EXPOSE %s", env, instruction("VOLUME"), instruction("EXPOSE"))
	}
	entry, start := list(instruction("ENTRYPOINT")), list(instruction("CMD"))
	_, probe, _ := strings.Cut(instruction("HEALTHCHECK"), "CMD ")
	check := list(probe)

	// What COPY takes, the build has put there: a program per folder of cmd, and the empty data
	// folder.
	build := strings.Join(stages[0], "\n")
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "-o /out/bin/ ./cmd/...", "mkdir -p /out/data"} {
		if !strings.Contains(build, want) {
			t.Errorf("the build lacks %q: %s", want, build)
		}
	}
	for _, want := range []string{"COPY --from=build /out/bin/ /bin/", "COPY --from=build --chown=nonroot:nonroot /out/data /data"} {
		if !slices.Contains(stages[1], want) {
			t.Errorf("the image lacks %q", want)
		}
	}
	program := func(p string) string {
		name, ok := strings.CutPrefix(p, "/bin/")
		if _, err := os.Stat(filepath.Join("../../cmd", name)); !ok || err != nil {
			t.Fatalf("%s is not a program of /bin: %v", p, err)
		}
		return command(t, name).Path
	}
	out := t.TempDir()
	addr := porttest.Free(t)
	settings := append(os.Environ(), "SEARCHD_DATA="+filepath.Join(out, "data"), "SEARCHD_ADDR="+addr, "SEARCHD_LOG_FORMAT="+env["SEARCHD_LOG_FORMAT"])
	server := exec.CommandContext(t.Context(), program(entry[0]), append(entry[1:], start...)...)
	server.Env = settings
	ask := func() error {
		c := exec.Command(program(check[0]), check[1:]...)
		c.Env = settings
		return c.Run()
	}
	if ask() == nil {
		t.Error("the probe is content without a server")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ask() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the probe never says that the server is ready")
		}
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// What the release packs is in the repository, or is made by the script. Its image has the settings
// of the Dockerfile.
func TestReleaseFiles(t *testing.T) {
	script, packages := read(t, "../../packaging/release.sh"), read(t, "../../packaging/nfpm.yaml")
	var files []string
	for _, m := range regexp.MustCompile(`(?m)src: "?([^",}]+)"?,`).FindAllStringSubmatch(packages, -1) {
		files = append(files, m[1])
	}
	if m := regexp.MustCompile(`(?m)^  cp -r (.*)$`).FindStringSubmatch(script); m != nil {
		files = append(files, strings.Fields(m[1])...)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "$") })
	if len(files) < 8 {
		t.Errorf("%q: want at least 8 files", files)
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join("../..", f)); err != nil {
			t.Errorf("%s: nothing there", f)
		}
	}
	for _, stage := range dockerfile(t) {
		for _, line := range stage {
			if env, ok := strings.CutPrefix(line, "ENV "); ok {
				for _, pair := range strings.Fields(env) {
					if !strings.Contains(script, `"`+pair+`"`) {
						t.Errorf("the image lacks %s, which the Dockerfile sets", pair)
					}
				}
			}
		}
	}
}

// The units start commands that the programs know.
func TestSystemdUnits(t *testing.T) {
	units, err := filepath.Glob("../../packaging/systemd/*.service")
	if err != nil || len(units) < 2 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	for _, unit := range units {
		text := read(t, unit)
		m := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/(\w+)(.*)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no ExecStart", unit)
		}
		words := strings.Fields(m[2])
		var sub []string
		if m[1] == "searchd" {
			sub = words[:1]
		}
		help, _ := mustRun(t, m[1], append(sub, "--help")...)
		for _, w := range words {
			if strings.HasPrefix(w, "--") && !strings.Contains(help, w+" ") {
				t.Errorf("%s: %s does not know %s", unit, m[1], w)
			}
		}
		for _, e := range regexp.MustCompile(`SEARCHD_(\w+)=`).FindAllStringSubmatch(text, -1) {
			flag := "--" + strings.ToLower(strings.ReplaceAll(e[1], "_", "-"))
			if e[1] != "NAME" && !strings.Contains(help, flag+" ") {
				t.Errorf("%s: %s has no setting %s", unit, m[1], e[0])
			}
		}
		for _, want := range []string{"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s", unit, want)
			}
		}
	}
}
