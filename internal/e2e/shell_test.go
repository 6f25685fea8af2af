package e2e

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The scripts of the shells load, where the shell is installed, and the programs answer what they
// ask.
func TestCompletion(t *testing.T) {
	for _, program := range []string{"searchd", "ingest"} {
		dir := filepath.Dir(command(t, program).Path)
		for shell, check := range map[string]string{"bash": "source <(%s completion bash) && complete -p %s", "zsh": "autoload -U compinit && compinit -u && source <(%s completion zsh) && whence _%s", "fish": "%s completion fish | source; and complete -c %s"} {
			t.Run(program+"/"+shell, func(t *testing.T) {
				if script, _ := mustRun(t, program, "completion", shell); !strings.Contains(script, program) || len(script) < 1000 {
					t.Errorf("a script of %d bytes", len(script))
				}
				path, err := exec.LookPath(shell)
				if err != nil {
					return // the script is there; whether its shell reads it is seen where there is one
				}
				cmd := exec.Command(path, "-c", strings.ReplaceAll(check, "%s", program))
				cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	for _, c := range []struct {
		program string
		args    []string
		want    string
	}{
		{"searchd", []string{"ba"}, "backup\tWrite"},
		{"searchd", []string{"query", "--mo"}, "--mode\t"},
		{"searchd", []string{"query", "--mode", ""}, "hybrid\nsemantic\nkeyword\n:4"},
		{"searchd", []string{"embed", "--precision", ""}, "auto\nf32\nint8\n:4"},
		{"searchd", []string{"check", "--data", ""}, ":16"}, // folders
		{"ingest", []string{"--delete"}, "--delete-missing\t"},
		{"ingest", []string{"--format", ""}, "auto\njsonl\ncsv\n"},
	} {
		if out, _ := mustRun(t, c.program, append([]string{"__complete"}, c.args...)...); !strings.Contains(out, c.want) {
			t.Errorf("%s %q: %q, want %q in it", c.program, c.args, out, c.want)
		}
	}
}

// Every command has a manual page, which names the command's own flags.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, "searchd", "man", dir)
	help, _ := mustRun(t, "searchd", "--help")
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name := strings.Fields(line)[0]
		if name == "help" || name == "completion" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "searchd-"+name+".1")); err != nil {
			t.Error(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "searchd-serve.1"))
	if err != nil || !strings.Contains(string(page), `\-\-rate\-limit`) || !strings.Contains(string(page), "searchd(1)") {
		t.Errorf("searchd-serve.1: %v\n%s", err, page)
	}
	if page, _ := mustRun(t, "ingest", "--man"); !strings.Contains(page, `\-\-delete\-missing`) || !strings.HasPrefix(page, `.TH "INGEST"`) {
		t.Errorf("ingest --man:\n%s", page)
	}
	if path, err := exec.LookPath("groff"); err == nil {
		pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
		if err != nil || len(pages) < 15 {
			t.Fatalf("%d pages, %v", len(pages), err)
		}
		if out, err := exec.Command(path, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff: %v\n%s", err, out)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	for _, program := range []string{"searchd", "ingest"} {
		if out, _ := mustRun(t, program, "--version"); !strings.HasPrefix(out, program+" version ") {
			t.Errorf("%s --version: %q", program, out)
		}
	}
}

// The probe of a container: 0 if the server takes requests, 1 and the reason otherwise.
func TestHealthCommand(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Write([]byte(`{"status":"ok"}`))
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte(`{"detail":"shutting down"}`))
	}))
	defer busy.Close()
	cert := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	port := strings.TrimPrefix(at(plain), "127.0.0.1")
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"ready", []string{"--addr", at(plain)}, 0, "ready"},
		{"on all addresses", []string{"--addr", "0.0.0.0" + port}, 0, "ready"},
		{"on all addresses, by port", []string{"--addr", port}, 0, "ready"},
		{"tls", []string{"--addr", at(secure), "--tls-cert", cert}, 0, "ready"},
		{"tls without its certificate", []string{"--addr", at(secure)}, 1, "not ready"},
		{"no tls where there should be", []string{"--addr", at(plain), "--tls-cert", cert}, 1, "not ready"},
		{"not ready", []string{"--addr", at(busy)}, 1, "shutting down"},
		{"nobody there", []string{"--addr", "127.0.0.1:1"}, 1, "no server listens at 127.0.0.1:1"},
		{"no address", []string{"--addr", "nowhere"}, 2, `--addr: got "nowhere", allowed: HOST:PORT`},
		{"no time", []string{"--timeout", "0s"}, 2, "--timeout: got 0s, allowed: more than 0s"},
	} {
		code, stdout, stderr := run(t, "", "searchd", append([]string{"health"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s%s", c.name, code, c.code, c.want, stdout, stderr)
		}
	}
}
