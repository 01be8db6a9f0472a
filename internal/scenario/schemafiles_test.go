package scenario_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/scenarios"
)

var catalog = registry.Catalog{Apps: load.Applications}

// TestSchemaFileIsCurrent compares the schema file in the folder scenarios with the schema that the
// program generates.
func TestSchemaFileIsCurrent(t *testing.T) {
	want, err := scenario.Schema(catalog)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../scenarios/" + scenario.SchemaFile); err != nil || string(got) != string(want) {
		t.Errorf("scenarios/%s is out of date (%v); run: go run ./cmd/quorumbench run --schema > scenarios/%[1]s", scenario.SchemaFile, err)
	}
}

// TestSchemaAcceptsExistingFiles checks that the schema accepts each scenario in the repository
// that the program accepts: in YAML files, documentation and tests of commands.
func TestSchemaAcceptsExistingFiles(t *testing.T) {
	settle.SkipUnderRace(t)
	schema, accepted := scenario.CompileSchema(t, catalog), map[string]int{}
	check := func(path, text string) {
		s, err := scenario.Parse("f.yaml", []byte(text), catalog, scenario.Options{})
		if err != nil || len(s.Trials) == 0 {
			return
		}
		accepted[filepath.Ext(path)]++
		if v, err := scenario.EditorValue([]byte(text)); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if err := schema.Validate(v); err != nil {
			t.Errorf("%s: the schema refuses this scenario: %v\n%s", path, err, text)
		}
	}
	visit := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml":
			check(path, string(text))
		case ".txtar":
			for _, f := range txtar.Parse(text).Files {
				check(path, string(f.Data))
			}
		case ".md":
			for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
				block, _, _ = strings.Cut(block, "```")
				check(path, block)
				check(path, "defaults: {store: etcd}\n"+block)
			}
		}
		return nil
	}
	for _, folder := range []string{"scenarios", "docs", "internal/cli", "tools", "deploy"} {
		if err := filepath.WalkDir(filepath.Join("../..", folder), visit); err != nil {
			t.Fatal(err)
		}
	}
	if accepted[".yaml"] < len(scenarios.Names()) || accepted[".md"] < 5 || accepted[".txtar"] < 20 {
		t.Errorf("too few scenarios were found: %v", accepted)
	}
}

// Each built-in scenario names the schema in its first line.
func TestBuiltInScenariosNameTheSchema(t *testing.T) {
	for _, name := range scenarios.Names() {
		if file, _ := scenarios.Read(name); !strings.HasPrefix(string(file), "# yaml-language-server: $schema="+scenario.SchemaFile+"\n") {
			t.Errorf("%s does not begin with a line that names the schema", name)
		}
	}
}

// TestSchemaAcceptsSettings checks that the schema accepts every value of a store's setting that
// the program accepts.
func TestSchemaAcceptsSettings(t *testing.T) {
	settle.SkipUnderRace(t)
	schema, accepted := scenario.CompileSchema(t, catalog), 0
	for _, name := range settle.Sample(t, 2, registry.Names()) {
		defaults, err := catalog.Settings(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, setting := range scenario.SettingNames(defaults) {
			for _, value := range []string{"null", "true", "'true'", "0", "-0", "-1", "5", "'5'", "5.5", "1e3", "1_0", "0x10", "0s", "-0s", "5s", "-5s", "a", "info", "''", "wal", "512m", "[]", "[-Da=b, 1, true]", "{}", "{a: b, c: 1}", "2.0"} {
				file := fmt.Sprintf("trials: [{store: %s, operation: put, settings: {%s: %s}}]", name, setting, value)
				v, err := scenario.EditorValue([]byte(file))
				if err != nil {
					t.Fatal(err)
				}
				if schema.Validate(v) == nil {
					accepted++
				} else if _, err := scenario.Parse("f.yaml", []byte(file), catalog, scenario.Options{}); err == nil {
					t.Errorf("the program accepts %s, but the schema refuses it: %v", file, schema.Validate(v))
				}
			}
		}
	}
	if accepted < 50 {
		t.Errorf("the schema accepts only %d values", accepted)
	}
}
