package cli

import (
	"strings"
	"testing"
)

func TestPlanRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"put --repeats 0":           "--repeats must be from 1 to 1000, not 0",
		"put --repeats=-1":          "--repeats must be from 1 to 1000, not -1",
		"put --repeats 1001":        "--repeats must be from 1 to 1000, not 1001",
		"put --clients 0":           "--clients must be at least 1, not 0",
		"put --clients=-4":          "--clients must be at least 1, not -4",
		"put --clients 2000000":     "--clients is 2000000 and can be at most 1000000",
		"put --clients many":        `--clients: "many" is not a whole number`,
		"put --conns 0":             "--conns must be at least 1, not 0",
		"put --threads=-1":          "--threads must be at least 0, not -1",
		"put --rate=-1":             "--rate must be above 0, or 0 for a closed loop, not -1",
		"put --rate fast":           `--rate: "fast" is not a number`,
		"put --rate 1e12":           "--rate is 1000000000000 and can be at most 10000000 operations a second",
		"put --rate 1e9":            "--rate is 1000000000 and can be at most 10000000 operations a second, more than any generator sends",
		"put --arrival poisson":     "poisson arrivals need a --rate above 0",
		"put --max-in-flight 5":     "--max-in-flight is for an open loop, which --rate makes",
		"put --total 0":             "--total must be at least 1, not 0",
		"put --total=-3":            "--total must be at least 1, not -3",
		"put --duration 0s":         "--duration must be above 0, not 0s",
		"put --duration=-1s":        "--duration must be above 0, not -1s",
		"put --duration 5":          "--duration: 5 lacks a unit; write a duration as in 500ms, 5s or 1m",
		"put --duration 2000h":      "--duration is 2000h0m0s and can be at most 1000h0m0s",
		"put --warmup=-1s":          "--warmup is -1s and cannot be negative",
		"put --timeout 0s":          "--timeout must be above 0, not 0s",
		"put --key-size=-1":         "--key-size is -1 and cannot be negative",
		"put --key-size 0":          "--key-size is 0 and there is no prefix, so the key would be empty",
		"put --key-size 1":          "--key-size 1 makes 64 keys, and --key-space-size is 10000; use keys of 3 bytes or more, or a smaller --key-space-size",
		"put --val-size 1e6":        `--val-size: "1e6" is not a size; write bytes as in 256, 1KB, 1KiB or 1MB`,
		"put --val-size 1GiB":       "--val-size is 1 GiB and can be at most 64 MiB",
		"put --key-space-size 0":    "--key-space-size must be at least 1, not 0",
		"put --distribution zipf":   `--distribution: there is no distribution "zipf"; choose sequential, uniform, zipfian or hotspot`,
		"put --target one":          `--target: there is no target "one"; choose any, all, leader, followers or member:N`,
		"put --seed=-1":             `--seed: "-1" is not a seed; write a whole number from 0 to 9223372036854775807`,
		"put --format xml":          `--format: there is no "xml"; choose text or json`,
		"put --strict=perhaps":      `--strict: "perhaps" is neither true nor false`,
		"put --consistency l":       "there is no flag --consistency",
		"get --consistency strong":  `--consistency: there is no consistency "strong"; choose one of linearizable, local or lease`,
		"get --consistency lease":   "etcd",
		"put --store redis":         `--store: there is no store "redis"; choose one of: etcd`,
		"put --endpoints=":          "no endpoint is given; write HOST:PORT",
		"put --endpoints localhost": `"localhost" is not an endpoint; write HOST:PORT`,
		"put --endpoints a:0":       `the endpoint "a:0" has no port from 1 to 65535`,
		"put --endpoints a:1,a:1":   "the endpoint a:1 is given twice",
		"put --endpoints ftp://a:1": `the endpoint "ftp://a:1" begins with neither http:// nor https://; write HOST:PORT`,
		"put --dial-timeout=-1s":    "--dial-timeout is -1s and must be from 0 to 1h; 0 is the default",
		"put --cert a":              "--cert and --key belong together; give both",
		"put --user root":           "--user must be NAME:PASSWORD",
		"range b a":                 `END "a" is not after KEY "b", so the interval is empty`,
		"range a --limit=-1":        "--limit is -1 and cannot be negative; 0 is no limit",
		"range a --key-size 3":      "there is no flag --key-size",
		"mixed --put-weight=-1":     "--put-weight and --get-weight cannot be negative",

		"put --repeats 2 --sample":          "--sample is about one measurement, and --repeats asks for 2; drop one of them",
		"put --repeats 2 --precise":         "--precise is about one measurement",
		"put --repeats 2 --report-perfdash": "--report-perfdash is about one measurement",
		"put --repeats 2 --check-hashkv":    "--check-hashkv is about one measurement",
		"put --new-connection --conns 4":    "with --new-connection each operation has a connection of its own, so --conns means nothing",
		"stm --new-connection":              "there is no flag --new-connection",
		"lease-keepalive --new-connection":  "there is no flag --new-connection",
		"watch --new-connection":            "there is no flag --new-connection",
		"txn-mixed --new-connection":        "there is no flag --new-connection",

		"get --key-space-size 1000000000000 --total 3":              "--key-space-size is 1000000000000, and a preload that writes all of it before anything is measured can have 100000000 keys at most; give a smaller --key-space-size, or go without (--no-preload)",
		"put --key-space-size 1000000000000 --total 3 --preload":    "--key-space-size is 1000000000000, and a preload that writes all of it before anything is measured can have 100000000 keys at most; give a smaller --key-space-size, or go without (no --preload)",
		"cas --no-preload --key-space-size 1000000000000 --total 3": "this load needs 7451 GiB of memory, most of it for a version of each key of the --key-space-size, to compare with, and can have 4 GiB; give a smaller --key-space-size",
		"put --clients 1000000 --val-size 1MiB":                     "this load needs 977 GiB of memory, most of it for a request of each client, and can have 4 GiB; give a smaller --clients",
		"put --rate 5 --max-in-flight 10000000 --total 3":           "this load needs 4.92 GiB of memory, most of it for the requests that may be under way, and can have 4 GiB; give a smaller --max-in-flight",
		"put --rate 5 --arrival poisson --total 1000000000000":      "--total is 1000000000000 and can be at most 100000000 with poisson arrivals; bound the window by a duration",

		"range":                                                   "bench range needs KEY and perhaps END",
		"range a --paginate --limit 5":                            "--paginate and --limit contradict each other; give one of them",
		"range a --keys-only --count-only":                        "--keys-only and --count-only contradict each other; give one of them",
		"range a --paginate --stream":                             "--paginate and --stream contradict each other; give one of them",
		"range a --paginate --count-only":                         "--paginate reads keys and --count-only does not; give one of them",
		"range a --store consul --stream":                         "consul cannot read a range with --stream; leave it out",
		"range a --store zookeeper --count-only":                  "zookeeper cannot read a range with --count-only; leave it out",
		"range a --store etcdv2 --paginate":                       "etcdv2 cannot read a range with --paginate; leave it out",
		"range a --stream --count-only":                           "--stream reads keys and --count-only does not; give one of them",
		"put --compact-interval=-1s":                              "--compact-interval is -1s and cannot be negative; 0 is never",
		"put --compact-index-delta=-1":                            "--compact-index-delta is -1 and cannot be negative",
		"txn-mixed a b --end-key c":                               `END "b" and --end-key "c" are the same; give one of them`,
		"txn-mixed b --end-key a":                                 `END "a" is not after KEY "b", so the interval is empty`,
		"txn-mixed --rw-ratio=-1":                                 "--rw-ratio is -1 and must be from 0 to",
		"txn-mixed --consistency x":                               `--consistency: there is no consistency "x"`,
		"stm --keys 0":                                            "--keys must be at least 1, not 0",
		"stm --keys-per-txn 2":                                    "--keys-per-txn is 2, and the key space has only 1 key",
		"stm --keys-per-txn 0":                                    "--keys-per-txn must be at least 1, not 0",
		"stm --txn-wr-percent 101":                                "--txn-wr-percent is 101 and must be from 0 to 100",
		"stm --isolation x":                                       `--isolation: there is no isolation "x"; choose one of c, r, s or ss`,
		"stm --stm-locker x":                                      `--stm-locker: there is no locker "x"; choose one of stm, lock-client or lock-rpc`,
		"stm --stm-locker lock-rpc --rate 5":                      "--stm-locker lock-rpc makes clients wait for each other, so they cannot follow a --rate; drop one of them",
		"stm --keys 1000 --key-size 1":                            "--key-size 1 makes 64 keys, and --keys is 1000; use keys of 2 bytes or more, or a smaller --keys",
		"stm --store consul":                                      "consul has no operation stm here",
		"lease-keepalive --total 0":                               "--total must be at least 1, not 0",
		"lease-keepalive --store zookeeper":                       "zookeeper has no operation keepalive here",
		"watch --streams 0":                                       "--streams is 0 and must be from 1",
		"watch --watch-per-stream 0":                              "--watch-per-stream is 0 and must be from 1",
		"watch --watched-key-total 0":                             "--watched-key-total must be at least 1, not 0",
		"watch --val-size 5":                                      "there is no flag --val-size",
		"watch --put-total 0":                                     "--put-total must be at least 1, not 0",
		"watch --put-total 5 --duration 5s":                       "--duration and --put-total exclude each other; give one of them",
		"watch --put-rate=-5":                                     "--put-rate must be above 0, or 0 for a closed loop, not -5",
		"watch --store zookeeper":                                 "zookeeper has no operation watch here",
		"watch-get --watchers 5 --streams 6":                      "--streams is 6, and there are 5 watchers; a stream needs a watcher at least",
		"watch-get --events 0":                                    "--events must be at least 1, not 0",
		"watch-get --conns 0":                                     "--conns is 0 and must be from 1",
		"watch-get --duration 0s":                                 "--duration must be above 0, not 0s",
		"watch-latency --val-size 15":                             "--val-size is 15 B, and an event tells which write it is of by its value, for which 16 bytes are needed",
		"watch-latency --put-rate 1e12":                           "--put-rate is 1000000000000 and can be at most 10000000 operations a second",
		"watch-latency --streams 2000000 --watchers-per-stream 4": "--watchers-per-stream is 4 and must be from 1 to 2, with 2000000 streams",

		"put --target-leader --target all":             "--target-leader and --target all contradict each other; give one of them",
		"put --auto-sync-interval=-1s":                 "--auto-sync-interval is -1s and cannot be negative",
		"txn-put --txn-ops 5 --key-space-size 4":       "--txn-ops is 5, and the key space has only 4 keys",
		"txn-put --txn-ops 0":                          "--txn-ops must be at least 1, not 0",
		"range a b --prefix":                           `--prefix reads all keys that begin with KEY, and END "b" bounds them, too; give one of them`,
		"put --total 5 --duration 5s":                  "--duration and --total exclude each other; give one of them",
		"put --arrival closed --rate 5":                "a closed loop has no rate: its clients send when they are free; drop --rate, or choose constant or poisson arrivals",
		"put --sequential-keys --distribution zipfian": "--sequential-keys and --distribution zipfian:0.99 contradict each other; give one of them",
		"put --endpoints http://a:1,https://b:1":       "the endpoints http://a:1 and https://b:1 contradict each other: TLS is for all of them or for none",
		"put --endpoints http://a:1 --cacert ca":       "the endpoint http://a:1 is without TLS, and other flags are about TLS; write https:// or drop them",
		"put --cacert a --insecure-skip-tls-verify":    "--cacert says whom to trust and --insecure-skip-tls-verify trusts everybody; give one of them",
		"put --watchers 5 --streams 6":                 "--streams is 6, and there are 5 watchers; a stream needs a watcher at least",
		"put --streams 6":                              "--watchers must be at least 1, not 0",
		"put --watchers 5 --val-size 15":               "--val-size is 15 B, and an event tells which write it is of by its value, for which 16 bytes are needed",
		"put --page-size 5":                            "there is no flag --page-size",
		"range a --page-size 5 --limit 3":              "--page-size and --limit contradict each other; give one of them",
		"range a --page-size 5 --paginate":             "--paginate and --page-size are the same; give one of them",
		"mixed --mix put=1 --put-weight 3":             "--mix has all weights, so --put-weight and --get-weight mean nothing; drop them",
		"mixed --mix put=1,putt=3":                     `--mix: there is no operation "putt"`,
		"mixed --mix put:local":                        "--mix: consistency is for reads, and put is none",
		"mixed --mix put=0":                            "the weight of put is 0 and must be from",
		"mixed --txn-ops 3":                            "--txn-ops is for transactions, and this trial has none",
		"mixed --keys-per-txn 3":                       "--keys-per-txn is for stm operations, and this trial has none",
		"mixed --mix put,stm --new-connection":         "--new-connection is for operations of one request and answer, and stm is none",
		"mixed --put-weight 0 --get-weight 0":          "--put-weight and --get-weight are both 0, so there is nothing to do",
	} {
		_, err := planned(t, strings.Fields(line)...)
		switch {
		case err == nil:
			t.Errorf("bench %s is accepted", line)
		case exitCode(err) != ExitUsage:
			t.Errorf("bench %s has exit code %d", line, exitCode(err))
		case !strings.HasPrefix(err.Error(), want):
			t.Errorf("bench %s says %q, not %q", line, err, want)
		case strings.ContainsAny(err.Error(), "\n"):
			t.Errorf("bench %s says more than a sentence: %q", line, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	for word, want := range map[string]string{
		"clinets": "; did you mean --clients?", "CLIENTS": "; did you mean --clients?", "key_size": "; did you mean --key-size?",
		"connections": "; did you mean --conns?", "zzz": "", "c": "",
	} {
		if got := suggest(word, []string{"clients", "conns", "key-size"}, "--"); got != want {
			t.Errorf("%q: %q, not %q", word, got, want)
		}
	}
}
