package manual_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/searchd/internal/manual"
)

func command() *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "Do things"}
	root.PersistentFlags().String("config", "", "a `file` of settings")
	sub := &cobra.Command{Use: "run PATH...", Short: "Run a thing", Long: "Runs a thing.\n.SH is no section here, \\n no line.\n\nSecond paragraph - with a \"quote\".\n\n  shown\n  as it is",
		Example: "  prog run --depth 3 a-b", RunE: func(*cobra.Command, []string) error { return nil }}
	sub.Flags().IntP("depth", "d", 2, "how deep")
	sub.Flags().Bool("secret", false, "not told")
	sub.Flags().Lookup("secret").Hidden = true
	hidden := &cobra.Command{Use: "inner", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(sub, hidden)
	return root
}

func TestWriteAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if err := manual.WriteAll(dir, command(), "v1"); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].Name() != "prog-run.1" || files[1].Name() != "prog.1" {
		t.Fatalf("pages: %v", files)
	}
	b, err := os.ReadFile(filepath.Join(dir, "prog-run.1"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{".TH \"PROG\\-RUN\" \"1\" \"\" \"prog v1\" \"prog manual\"\n", "prog\\-run \\- run a thing\n", "\n\\&.SH is no section here, \\en no line.\n", "\n.PP\nSecond paragraph \\- with",
		"\n.nf\n  shown\n  as it is\n.fi\n", ".B \"\\-d, \\-\\-depth int\"\nhow deep (default 2)\n", "OPTIONS OF ALL COMMANDS", ".B \"\\-\\-config file\"\n", "prog run \\-\\-depth 3 a\\-b", "SEE ALSO\"\nprog(1)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a hidden flag is told")
	}
}

// TestRendered has man's own formatter read the page and wants no warning. Without one in PATH it
// is skipped, but fails where E2E_REQUIRE=1.
func TestRendered(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		if os.Getenv("E2E_REQUIRE") == "1" {
			t.Fatal("no groff in PATH, and E2E_REQUIRE=1")
		}
		t.Skip("no groff in PATH")
	}
	var b strings.Builder
	manual.Write(&b, command().Commands()[0], "v1")
	cmd := exec.Command(groff, "-man", "-Tutf8", "-ww")
	cmd.Stdin = strings.NewReader(b.String())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") {
		t.Errorf("%v\n%s", err, out)
	}
}
