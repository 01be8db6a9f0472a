package golden

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/cli"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// wrongLines lists command lines that the program refuses before it starts anything. Each error
// must state the input, the reason and the remedy. Arguments are separated by spaces; %20 stands
// for a space within an argument.
const wrongLines = `
benhc
--wrong
help nothing
run nofile
run kubernetes.yaml
run six-store
run bad.yaml
run broken.yaml
run empty.yaml
run full
run a b
run --store zookeper
run --store etcd@
run --store etcd@9.9.9 --validate
run --set baseline.version=9.9.9 --validate
run --set faults=rolling-upgrade%20to%20etcd@9.9.9%20at%201s --validate
run --set unheardof=5 --validate
run --set settings.unheardof=5 --validate
run --store etcd@3 --exec x
run --set cliens=5 --validate
run --set clients=five --validate
run --set clients=-1 --validate
run --set x --validate
run --set duration=5 --validate
run --set target=everyone --validate
run --set faults=kill%20leader%20at%204s%20for%203s --validate
run --set endpoints=nowhere --validate
run --scale 0 --validate
run --scale abc
run --seed -1
run --seed abc
run --until-precision 200% --validate
run --at-most 5m --validate
run --threshold p99 --validate
run --threshold p99<1 --validate
run --threshold other:p99<1ms --validate
run --threshold nometric<1 --validate
run --list --dry-run
run --list quick
run --print nothing
run --validate --format json
run --out full --runs-dir x
run --resume full
run --resume nofile
run --format xml
run --bogus
run --interval 500ms
init bad.yaml
init nofolder/a.yaml
bench
bench mvcc
bench put word
bench put --total abc
bench put --total 0
bench put --clients 0
bench put --conns 0
bench put --val-size 5XB
bench put --val-size -1
bench put --rate -5
bench put --rate abc
bench put --duration 5
bench put --duration -5s
bench put --timeout 0s
bench put --threads -1
bench put --key-size 0 --key-space-size 10
bench put --distribution gauss
bench put --consistency l
bench put --target everyone
bench put --store zookeper
bench put --endpoints nowhere
bench put --endpoints 127.0.0.1:99999
bench put --endpoints ftp://a:1
bench put --endpoints http://a:1,https://b:2
bench put --endpoints user:pw@a:1
bench put --endpoints http://a:1 --cacert x
bench put --cert x
bench put --cacert x --insecure-skip-tls-verify
bench put --cacert nofile
bench put --user root
bench put --repeats 0
bench put --repeats 2 --format etcd
bench put --format xml
bench get --consistency x
bench range
bench watch --watch-per-stream abc
check nothing
check disk
check disk nofile
check disk bad.yaml
check disk . --size -1
check disk . --size 100TB
check disk . --records 0
check disk . --store etdc
check hosts --hosts db1,db1
check hosts --hosts agent:db1
check hosts --rate 1
check hosts --duration 1s
check hosts --store zetcd
check hosts --dir /nofolder
check perf --load huge
check perf --rate 0
check perf --duration 1ms
check perf --data-dir /nofolder
check members --rate 0
check members --duration 0s
capacity
capacity --objective throughput>5
capacity --objective p99<
capacity --objective p99<1s --from 0
capacity --objective p99<1s --max-rate 1
capacity --objective p99<1s --width 0%
capacity nofile --objective p99<1s
break
break kill
break kil%20leader
break kill%20leader%20every%2010s
break kill%20leader%20for%2060s
compare
compare full
report
report nofile
report full --format docx
verify full
traffic profile nofile
traffic replay nofile
cluster up --members 0
cluster up --store etdc
null-server --script delay=abc
null-server --listen nowhere
null-server --members 0
stores install nothing
upload full s3://
upload full ftp://a
agent --listen nowhere
`

// TestErrorsOfWrongCommandLines compares the exit code and the error message for each wrong command
// line with the golden file.
func TestErrorsOfWrongCommandLines(t *testing.T) {
	settle.SkipUnderRace(t)
	var all strings.Builder
	t.Run("lines", func(t *testing.T) {
		t.Chdir(t.TempDir())
		// The program looks in these folders for files that killed runs left. If it finds any, it
		// removes them and prints a line, so the folders must be empty.
		for _, variable := range []string{"TMPDIR", "XDG_CACHE_HOME", "HOME"} {
			t.Setenv(variable, t.TempDir())
		}
		for name, text := range map[string]string{
			"bad.yaml": "trials: [{store: etcd, operation: putt}]\n", "broken.yaml": "a: [\n", "empty.yaml": "", "full/file": "x",
		} {
			must(t, os.MkdirAll("full", 0o700))
			must(t, os.WriteFile(name, []byte(text), 0o600))
		}
		for line := range strings.Lines(strings.TrimSpace(wrongLines)) {
			line = strings.TrimSpace(line)
			args := strings.Fields(line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "%20", " ")
			}
			var out, said bytes.Buffer
			code := cli.Main(args, strings.NewReader(""), &out, &said)
			if code == 0 || out.Len() > 0 || strings.Count(said.String(), "\n") != 1 {
				t.Errorf("%s: exit code %d, stdout %q, stderr %q", line, code, out.String(), said.String())
			}
			fmt.Fprintf(&all, "$ quorumbench %s\n%d %s", line, code, strings.TrimPrefix(said.String(), "quorumbench: "))
		}
	})
	compare(t, "errors.txt", all.String())
}
