package command

import (
	"runtime/debug"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

func TestBuildInformation(t *testing.T) {
	for _, c := range []struct {
		info *debug.BuildInfo
		want Build
	}{
		{
			&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-29T18:00:00Z"}, {Key: "vcs.modified", Value: "true"},
			}},
			Build{Tool: record.Tool{Version: "v1.2.3", Revision: "abc with changes"}, Date: "2026-11-29T18:00:00Z"},
		},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Build{Tool: record.Tool{Version: "devel"}}},
	} {
		got := Build{Tool: record.Tool{Version: "devel"}}
		if got.complete(c.info); got != c.want {
			t.Errorf("%+v, not %+v", got, c.want)
		}
	}
}
