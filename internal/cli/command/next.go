package command

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// SuggestNext prints a suggestion after a result: a command line and, in parentheses, its purpose.
// It prints to standard error, and callers use it only with --format text, so that programs can
// parse standard output.
func (a *App) SuggestNext(format string, args ...any) {
	if a.CleanupFlags != "" {
		return
	}
	makePrintable(args)
	_, _ = fmt.Fprintf(a.Stderr, "Next: %s\n", fmt.Sprintf(format, args...)) // there is no place to report an error
}

// SuggestMore prints, below the line of SuggestNext, how to see what limited a run and how to
// compare it with another run. dir is the run directory. If dir is empty, SuggestMore prints
// nothing.
func (a *App) SuggestMore(dir string) {
	if dir != "" && a.CleanupFlags == "" {
		dir = text.ShellQuote(printableLine(dir))
		_, _ = fmt.Fprintf(a.Stderr, "Also: quorumbench report %s --wide (shows what limited the run)\n      quorumbench compare %s RUN (compares the run with another run)\n", dir, dir)
	}
}

// RepeatCommand returns the current command line with a flag added or replaced, quoted for a shell.
// It omits passwords. It replaces the run directory with DIR, because that directory is no longer
// empty.
func (a *App) RepeatCommand(flagAndValue ...string) string {
	words := []string{"quorumbench"}
	last := ""
	for _, arg := range append(removeFlag(a.Args, flagAndValue), flagAndValue...) {
		flag, value, hasValue := strings.Cut(arg, "=")
		switch {
		case last == "--user":
			arg = scenario.PrintableUser(arg)
		case last == "--out":
			arg = "DIR"
		case flag == "--out" && hasValue:
			arg = "--out=DIR"
		case flag == "--user" && hasValue:
			arg = "--user=" + scenario.PrintableUser(value)
		case last == "--endpoints":
			arg = printableEndpoints(arg)
		case flag == "--endpoints" && hasValue:
			arg = "--endpoints=" + printableEndpoints(value)
		case last == "--set":
			arg = printableAssignment(arg)
		case flag == "--set" && hasValue:
			arg = "--set=" + printableAssignment(value)
		}
		last = arg
		words = append(words, text.ShellQuote(inURL.ReplaceAllString(arg, "://NAME:PASSWORD@")))
	}
	return strings.Join(words, " ")
}

// removeFlag returns a copy of args without the flag added[0] and without the value of that flag.
func removeFlag(args, added []string) (remaining []string) {
	for i := 0; i < len(args); i++ {
		switch {
		case len(added) == 0:
			remaining = append(remaining, args[i])
		case args[i] == added[0]:
			i++ // its value
		case !strings.HasPrefix(args[i], added[0]+"="):
			remaining = append(remaining, args[i])
		}
	}
	return remaining
}

// inURL matches the user and password in a URL.
var inURL = regexp.MustCompile(`://[^/@\s]+@`)

// printableAssignment returns the KEY=VALUE of a --set flag with any password hidden.
func printableAssignment(given string) string {
	key, value, _ := strings.Cut(given, "=")
	switch last := key[strings.LastIndex(key, ".")+1:]; {
	case last == "user":
		return key + "=" + scenario.PrintableUser(value)
	case last == "endpoints":
		return key + "=" + printableEndpoints(value)
	case strings.HasPrefix(value, "{") && strings.Contains(value, "user"):
		return key + "={...}"
	}
	return given
}

// printableEndpoints returns the value of --endpoints without credentials.
func printableEndpoints(given string) string {
	all := strings.Split(given, ",")
	for i := range all {
		all[i] = scenario.RedactedEndpoint(all[i])
	}
	return strings.Join(all, ",")
}

// SelectionFlags returns the flags that select the same cluster, quoted for a shell and without a
// password.
func (f *AttachFlags) SelectionFlags() string {
	cluster, store := f.Cluster, ""
	cluster.Endpoints = f.endpoints.list
	if f.Store != "etcd" {
		store = " --store " + text.ShellQuote(f.Store)
	}
	return store + cluster.SelectionFlags()
}
