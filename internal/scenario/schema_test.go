package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// CompileSchema returns the schema of scenario files, ready to validate files.
func CompileSchema(t testing.TB, c Catalog) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(c)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(SchemaFile, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(SchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// SettingNames returns the names of a store's settings.
func SettingNames(defaults any) []string { return settingNames(defaults) }

// EditorValue parses a file as an editor does: the values have the types of YAML 1.2.
func EditorValue(data []byte) (any, error) {
	root, err := file.Parse(data)
	if err != nil || root == nil {
		return nil, err
	}
	return editorValue(root), nil
}

// Scalars of YAML 1.2 (the core schema) that are not text.
var (
	yamlBool    = regexp.MustCompile(`^(true|True|TRUE|false|False|FALSE)$`)
	yamlInteger = regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	yamlFloat   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	yamlSpecial = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

func editorValue(n *file.Node) any {
	switch n.Kind {
	case file.Null:
		return nil
	case file.List:
		items := []any{}
		for _, item := range n.Items {
			items = append(items, editorValue(item))
		}
		return items
	case file.Mapping:
		all := map[string]any{}
		for _, p := range n.Pairs {
			all[p.Key] = editorValue(p.Value)
		}
		return all
	}
	switch {
	case n.Quoted:
	case yamlBool.MatchString(n.Text):
		return strings.EqualFold(n.Text, "true")
	case yamlInteger.MatchString(n.Text):
		if i, err := strconv.ParseInt(strings.Replace(n.Text, "0o", "0", 1), 0, 64); err == nil && strings.HasPrefix(n.Text, "0") {
			return i
		}
		return json.Number(strings.TrimPrefix(n.Text, "+"))
	case yamlFloat.MatchString(n.Text):
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return f
		}
	case yamlSpecial.MatchString(n.Text):
		return json.Number("1e400") // larger than every limit
	}
	return n.Text
}

// acceptedBySchema lists the cases in testdata/refused.txt that the schema accepts. They are
// grouped by the reason why only the program can refuse them.
var acceptedBySchema = map[string][]string{
	"it depends on other parameters of the trial": {
		"closed with rate", "open without rate", "both bounds", "key too short", "key empty", "key too short by default", "no operation",
		"operation and mix", "mix twice", "mix of a put with consistency", "consistency of a put", "member too high", "followers of one",
		"range key without range", "range end alone", "range end before key", "no store", "endpoints and members", "tls alone", "tls half", "tls both",
		"matrix and key", "steps and matrix", "steps of rates in a closed loop", "store mapping and key", "version and exec",
		"version and exec of a store", "version of a running cluster", "baseline that is the same", "connections of one operation each",
		"watch streams without watchers", "watch connections without streams", "watch more keys than there are", "watch all and some",
		"watch one key and several", "watch one key and all", "watch one key and an interval", "watch a key of the load", "watch the key of the load",
		"watch earlier events of no key", "watch earlier events before the window", "watch earlier events and a total",
		"watch the load's keys since the window", "watch values without revisions", "watch and new connections", "watch and stm", "stm without stm",
		"stm more keys than there are", "stm locker at a rate", "ways of reading ranges that exclude each other", "ways of reading without a range",
		"faults of disks that cannot be", "rolling and random faults that cannot be", "watch more than can be followed", "endpoint twice",
	},
	"it depends on the store": {
		"store lacks the level", "store lacks the operation", "store lacks the default level", "store lacks the level given",
		"store lacks a part of the mix", "setting refused", "unknown version", "watch where there is none", "watch by default where there is none",
		"stm where there is none", "keepalive where there is none", "txn-get where there is none", "pages of a store without",
		"store lacks a scenario parameter", "keepalive on new connections", "faults of a store's own work that cannot be",
	},
	"it depends on other trials, or on the number and the names of all trials": {
		"one exec for a matrix of stores", "one exec in the defaults for several stores", "matrix twice the value", "matrix too large", "repeats too many",
		"names twice", "name placeholder", "rate of an unknown trial", "rate of a template", "rate of itself", "rates in a circle", "rate of a later trial",
	},
	"the limit applies to a text, such as a duration, a size or a number with underscores, which a pattern cannot compare": {
		"rate percent", "duration long", "timeout long", "value size", "value fraction", "theta short", "endpoint port", "watch too many watchers",
		"watch too many earlier events", "a page of too many keys",
	},
	"it depends on how the value is written": {
		"user escaped",
	},
}

// TestSchemaRefuses checks that the schema refuses the invalid files in testdata/refused.txt,
// except for those that only the program can judge.
func TestSchemaRefuses(t *testing.T) {
	schema := CompileSchema(t, shelf{})
	reasons := map[string]string{}
	for reason, names := range acceptedBySchema {
		for _, name := range names {
			reasons[name] = reason
		}
	}
	for _, c := range refused(t) {
		value, err := EditorValue([]byte(c.file))
		if err != nil {
			continue // the editor cannot read the file as YAML
		}
		reason, listed := reasons[c.name]
		delete(reasons, c.name)
		switch err := schema.Validate(value); {
		case err == nil && !listed:
			t.Errorf("the schema accepts the file %q, which the program refuses:\n%s", c.name, c.why)
		case err != nil && listed:
			t.Errorf("the schema refuses the file %q, although it is listed with the reason %q", c.name, reason)
		}
	}
	for name := range reasons {
		t.Errorf("testdata/refused.txt has no case %q", name)
	}
}

// sampleValues are values of all kinds, at and beyond the bounds of the parameters.
var sampleValues = []string{
	"null", "true", "'true'", "0", "-0", "'0'", "+0", "1", "+1", "-1", "2", "5", "'5'", "'-5'", "05", "99", "100", "101", "128", "129", "1000", "1001", "1024", "1025", "1000000", "1000001",
	"4194304", "4194305", "10000000", "10000001", "1000000000000", "1000000000001", "1000000000000001", "99999999999999999999", "10_000", "-1_0", "-_0", "'5_0'",
	"1.5", "2.0", "1e3", ".5", "5.", "0.9", "1.0", "-0.0", "0x10", "0x1p4", "1_0.5", "1e-9", "1e-10", ".inf", ".nan",
	"0s", "-0s", "1s", "+1s", "-1s", "'1s'", "1m30s", ".5s", "1.s", "1h", "2000h", "0.0s", "100ms", "1us", "1µs", "5 s",
	"256B", "1KiB", "1.5 KB", "' 5 KB'", "1GiB", "1kB", "1.5B", "5 bytes", "2%", "'2 %'", "200%", "50% of put", "0% of put", "5e1 % of put",
	"put", "get", "watch", "local", "l", "lease", "all", "leader", "member:2", "member:0", "member:+1", "follower", "m1", "m+1", "m0", "none", "poisson", "recorded", "uniform", "zipfian:0.5", "zipfian:5",
	"hotspot:0.1:0.5", "hotspot:1", "{name: zipfian, theta: 0.5}", "{name: zipfian, theta: 1}", "{name: hotspot, hot-operations: 1}", "{name: uniform, theta: 0.5}", "{theta: 0.5}", "stream", "query", "r", "lock-rpc", "ssh",
	"random", "written", "''", "' '", `"a\nb"`, "a b", "a/b", "/a", "a", "'{operation}'", "'x-{operation}'", strings.Repeat("x", 41), strings.Repeat("é", 30),
	"[]", "[a]", "[1]", "[null]", "[a, b]", "{}", "{a: b}", "{A: b}", "{A: 1}", "{1A: b}", "{QUORUMBENCH_A: b}", "{put: 1}", "{put: 0}", "{put: 1, get: 2.5}", "{put: 1_0}", "{put: '1'}",
	"[{operation: put}]", "[{operation: get, consistency: local, weight: 1_0}]", "[{weight: 1}]", "{watchers: 5}", "{watchers: 0}", "{watchers: 5, streams: 2}", "{streams: 2}", "{every: 1s}", "{every: 0s}", "{behind: 5}",
	"{keys: 2}", "{keys: 0}", "{isolation: s}", "etcd", "{name: etcd}", "{name: etcd, version: 1.0}", "{name: etcd, members: 0}", "{label: x}", "{cacert: a}", "{cert: a, key: b}", "{cert: a}",
	"{insecure-skip-tls-verify: true}", "a:b", "'a:1'", "['a:1']", "'a:1, b:+2'", "'[::1]:80'", "http://a:1", "kubernetes", "patroni", "clients", "{clients: [1]}", "{clients: [1], rate: [1]}",
	"kill leader at 1s for 1s", "[kill leader at 1s for 1s]", "compact at 1s", "[compact all at 1s]", "[compact m1 at 1s]", "[kill at 1s for 1s]", "[kill leader at 1 for 1s]", "[kill leader at 0 for 1s]", "[kill leader for 1s]",
	"[kill leader at 1s for 1s every 3s repeat 2]", "[{do: kill, member: leader, at: 1s, for: 1s}]", "[{do: compact, at: 1s}]", "[{do: kill, at: 1s, for: 1s}]", "[loss m1 by 10% at 1s for 1s]", "[slow-link m+1 to 1MB/s at 0 for 1s]",
	"random any of kill/pause at 1s for 1s every 3s", "'kill leader at 1s for 1s, pause m2 at 3s for 1s'", "[{do: random, member: any, of: [kill, pause], at: 1s, for: 1s, every: 3s}]", "[rolling-upgrade to 2.0 at 1s]",
	"{snapshot-count: 5}", "{snapshot-count: '5'}", "{snapshot-count: 1e3}", "{snapshot-count: -5}", "{snapshot-count: 1.5}", "{snapshot-count: many}", "{snapshot-count: null}", "{snapshot-count: 1_0}", "{heartbeat: 5s}", "{heartbeat: 5}",
	"{unsafe-no-sync: true}", "{unsafe-no-sync: 1}", "{unsafe-no-sync: null}", "{version: 1.0}", "{store: slow}", "{precision: 2%}", "[{name: a}]", "[{name: a, via: ssh, address: b}]",
}

// sampleTrials are the trials to which TestSchemaAcceptsValidValues adds a value.
var sampleTrials = [][]string{
	{"store: etcd"}, {"store: etcd", "operation: put"}, {"store: etcd", "operation: range", "range-key: a"}, {"store: etcd", "mix: {txn: 1, stm: 1, get: 1}"}, {"store: etcd", "operation: put", "rate: 5"},
	{"store: etcd", "operation: put", "endpoints: 'a:1'"}, {"store: etcd", "operation: put", "duration: 1m", "watch: {watchers: 10, streams: 10}"},
	{"store: etcd", "application: kubernetes"}, {"store: etcd", "application: patroni"}, {"store: etcd", "application: election-race"}, {"store: etcd", "application: catalog"},
}

// samples returns formats of YAML pairs, each with the placeholder %s for a value. The pairs in
// `trial` belong in a trial, and those in `file` belong at the top level of a file.
func samples() (trial, file []string) {
	for _, p := range Parameters(Apps()) {
		switch mapping, key := p.group(); mapping {
		case "":
			trial = append(trial, key+": %s")
		case "watch":
			trial = append(trial, "watch: {watchers: 5, key: x, "+key+": %s}", "watch: {watchers: 5, "+key+": %s}")
		case "compact":
			trial = append(trial, "compact: {every: 1s, "+key+": %s}")
		default:
			trial = append(trial, mapping+": {"+key+": %s}")
		}
	}
	for _, field := range fault.FieldNames() {
		trial = append(trial, "faults: [{do: kill, member: leader, "+field+": %s}]", "faults: [{do: delay, member: leader, at: 1s, for: 1s, by: 1s, every: 3s, "+field+": %s}]", "faults: [kill leader at 1s for 1s "+field+" %s]")
	}
	for _, field := range []string{"cacert", "insecure-skip-tls-verify"} {
		trial = append(trial, "tls: {"+field+": %s}")
	}
	for _, k := range FileKeys() {
		file = append(file, k.Key+": %s")
	}
	for _, field := range []string{"name", "address", "via", "dir"} {
		file = append(file, "hosts: [{name: a, "+field+": %s}]", "hosts: [{name: a, via: ssh, address: b, "+field+": %s}]")
	}
	for _, field := range []string{"precision", "at-most", "metrics"} {
		file = append(file, "until: {precision: 2%%, "+field+": %s}")
	}
	return trial, file
}

// TestSchemaAcceptsValidValues adds many values to trials and files, and checks that the program
// refuses every value that the schema refuses. In CI, it checks only every fourth of these values,
// and checks each of them in only one file.
func TestSchemaAcceptsValidValues(t *testing.T) {
	settle.SkipUnderRace(t)
	schema := CompileSchema(t, shelf{})
	trialSamples, fileSamples := samples()
	refusedBySchema := 0
	try := func(format, value string, files func(pair string) []string) {
		pair := fmt.Sprintf(format, value)
		all := files(pair)
		v, err := EditorValue([]byte(all[0]))
		if err != nil || schema.Validate(v) == nil {
			return
		}
		refusedBySchema++
		if !settle.Long() {
			if refusedBySchema%4 != 0 {
				return
			}
			all = all[refusedBySchema%len(all):][:1]
		}
		for _, file := range all {
			if _, err := Parse("f.yaml", []byte(file), shelf{}, Options{}); err == nil {
				t.Errorf("the program accepts %s, but the schema refuses it: %v", file, schema.Validate(v))
			}
		}
	}
	p := &fileParser{catalog: shelf{}, apps: Apps(), keys: byKey(Parameters(Apps()))}
	for _, value := range sampleValues {
		for _, format := range trialSamples {
			key, _, _ := strings.Cut(format, ":")
			root, err := file.Parse([]byte(fmt.Sprintf(format, value)))
			if err != nil {
				continue
			}
			p.errs = nil
			if p.readLayer(root, inTrial); len(p.errs) > 0 {
				continue // the program refuses the value wherever it is
			}
			try(format, value, func(pair string) (all []string) {
				for _, trial := range sampleTrials {
					others := slices.DeleteFunc(slices.Clone(trial), func(other string) bool { return strings.HasPrefix(other, key+":") })
					all = append(all, "trials: [{"+strings.Join(append(others, pair), ", ")+"}]")
					if k := p.keys[key]; !k.trialOnly && !k.notInMatrix {
						_, value, _ := strings.Cut(pair, ": ")
						all = append(all, "trials: [{"+strings.Join(append(others, "matrix: {"+key+": ["+value+"]}"), ", ")+"}]")
					}
				}
				return all
			})
		}
		for _, format := range fileSamples {
			try(format, value, func(pair string) []string {
				if strings.HasPrefix(pair, "trials:") {
					return []string{"defaults: {store: etcd, operation: put}\n" + pair}
				}
				return []string{pair + "\ntrials: [{store: etcd, operation: put}]"}
			})
		}
	}
	if refusedBySchema < 3000 {
		t.Errorf("the schema refuses only %d values", refusedBySchema)
	}
}
