package command

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// ownVariable is the prefix of quorumbench's environment variables. For example, QUORUMBENCH_CACERT
// is the default of --cacert.
const ownVariable = "QUORUMBENCH_"

// environment reads values from environment variables for the flags that the user did not give.
// quorumbench's variables take precedence over the variables of the store's client.
type environment struct {
	getenv       func(string) string
	capabilities kv.Capabilities
	used         []string // names of the variables that were used
	withoutFlags bool     // set if the command has no flags for these values, which are in a scenario
}

// lookup returns the value and the name of the variable for a flag, or "" if no variable is set.
func (e *environment) lookup(flag string) (value, name string) {
	for _, name := range []string{ownVariable + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")), e.capabilities.EnvironmentVariables[flag]} {
		if name == "" {
			continue
		}
		if value := e.getenv(name); value != "" {
			return value, name
		}
	}
	return "", ""
}

// apply passes the value of the flag's variable to the function `set`, and records that the
// variable was used. If the variable is not set, apply does nothing. An error names the variable.
func (e *environment) apply(flag string, set func(value string) error) error {
	value, name := e.lookup(flag)
	if name == "" {
		return nil
	}
	if err := set(value); err != nil {
		return Usage("%s: %w; correct or unset the variable, or %s", name, err, e.alternative("--"+flag))
	}
	e.used = append(e.used, name)
	return nil
}

// alternative returns the part of an error that names another way to give values: the flags, or the
// scenario for a command without these flags.
func (e *environment) alternative(flags string) string {
	if e.withoutFlags {
		return "set the value in the scenario"
	}
	return "give " + flags
}

// takeFile stores the value of the flag's variable in *path. The value must be the path of an
// existing file.
func (e *environment) takeFile(flag string, path *string) error {
	return e.apply(flag, func(value string) error {
		if _, err := os.Stat(value); err != nil {
			return fmt.Errorf("the file %q does not exist", value)
		}
		*path = value
		return nil
	})
}

// takeAccess completes the TLS settings, the user and the timeout for connections to a cluster. The
// function `given` reports whether a flag or the scenario has already set a value. takeAccess
// ignores variables for TLS if plain is true or the store does not support TLS.
func (e *environment) takeAccess(attach *scenario.RunningCluster, plain bool, given func(flag string) bool) error {
	var failed error
	do := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	toggle := func(into *bool) func(string) error {
		return func(value string) (err error) { *into, err = text.ParseBool(value); return err }
	}
	if _, can := e.capabilities.Features[kv.TLS]; can && !plain {
		verify := !given("insecure-skip-tls-verify")
		if verify && !given("cacert") {
			do(e.takeFile("cacert", &attach.CACert))
		}
		if verify && attach.CACert == "" {
			do(e.apply("insecure-skip-tls-verify", toggle(&attach.SkipVerify)))
		}
		if !given("cert") && !given("key") {
			do(e.takePair(attach))
		}
		if !given("tls") {
			do(e.apply("tls", toggle(&attach.TLS)))
		}
		attach.TLS = attach.TLS || attach.CACert != "" || attach.Cert != "" || attach.SkipVerify
	}
	if _, can := e.capabilities.Features[kv.Users]; can && !given("user") {
		do(e.takeUser(attach))
	}
	if !given("dial-timeout") {
		do(e.apply("dial-timeout", func(value string) (err error) { attach.DialTimeout, err = text.ParseDuration(value); return err }))
	}
	return failed
}

// takePair reads the paths of a client certificate and its private key. It returns an error if only
// one of the two variables is set.
func (e *environment) takePair(attach *scenario.RunningCluster) error {
	if err := e.takeFile("cert", &attach.Cert); err != nil {
		return err
	}
	if err := e.takeFile("key", &attach.CertKey); err != nil {
		return err
	}
	if (attach.Cert == "") == (attach.CertKey == "") {
		return nil
	}
	return Usage("%s is set, but a client certificate and its key belong together; set the other variable, too, or %s", e.used[len(e.used)-1], e.alternative("--cert and --key"))
}

// takeUser reads a user with a password, or only a token if the store's client has a variable for a
// token and none for a user. If a separate variable contains the password, takeUser does not copy
// the password. It stores a reference to the variable, as --user NAME:env:VARIABLE does.
func (e *environment) takeUser(attach *scenario.RunningCluster) error {
	user, name := e.lookup("user")
	_, password := e.lookup("password")
	variables := e.capabilities.EnvironmentVariables
	switch {
	case name == "" && password == "":
		return nil
	case name == "" && variables["password"] != "" && variables["user"] == "": // the store's client logs in with only a token
		attach.User, e.used = "token:env:"+password, append(e.used, password)
	case name == "":
		return Usage("%s is set, but no variable names the user; set %s, too, or %s", password, cmp.Or(variables["user"], ownVariable+"USER"), e.alternative("--user"))
	case strings.Contains(user, ":"):
		attach.User, e.used = user, append(e.used, name)
	case password == "":
		return Usage("%s has no password; write NAME:PASSWORD or NAME:env:VARIABLE, or %s", name, e.alternative("--user"))
	default:
		attach.User, e.used = user+":env:"+password, append(e.used, name, password)
	}
	return nil
}

// printVariables prints the names of the variables that were used, without values and only once.
func (a *App) printVariables(used []string) {
	line := strings.Join(used, ", ")
	if line == "" || a.printed[line] {
		return
	}
	if a.printed == nil {
		a.printed = map[string]bool{}
	}
	a.printed[line] = true
	a.PrintNote("using %s from the environment", line)
}

// UseEnvironment completes a command's AttachFlags from environment variables. It does nothing if
// the command has no AttachFlags.
//
// Some commands start a cluster unless endpoints are given. For such a command, UseEnvironment
// reads only QUORUMBENCH_ENDPOINTS, because a variable that was set for etcdctl must not direct the
// load to a production cluster. UseEnvironmentIn completes the scenario of such a command.
func (a *App) UseEnvironment(c *cobra.Command) error {
	flag := c.Flags().Lookup("endpoints")
	if flag == nil {
		return nil
	}
	endpoints, ok := flag.Value.(*endpointsFlag)
	if !ok {
		return nil
	}
	f := endpoints.flags
	if f.Elsewhere != nil && f.Elsewhere() {
		return nil
	}
	e := &environment{getenv: os.Getenv, capabilities: a.Catalog.Capabilities(f.Store)}
	starts := flag.DefValue == ""
	if starts {
		e.capabilities.EnvironmentVariables = nil
	}
	if !flag.Changed {
		if err := e.apply(flag.Name, endpoints.takeAll); err != nil {
			return err
		}
	}
	if !starts {
		if err := e.takeAccess(&f.Cluster, f.Plain(), c.Flags().Changed); err != nil {
			return err
		}
	}
	a.printVariables(e.used)
	return nil
}

// Plain reports whether an endpoint begins with http://, so that TLS cannot be used.
func (f *AttachFlags) Plain() bool {
	return slices.ContainsFunc(f.endpoints.list, func(e string) bool { return strings.HasPrefix(e, "http://") })
}

// takeAll sets the endpoints from the value of a variable. All endpoints must be valid addresses.
func (e *endpointsFlag) takeAll(value string) error {
	if err := e.Set(value); err != nil {
		return err
	}
	at, err := e.flags.attached()
	if err != nil {
		return err
	}
	return at.Validate()
}

// UseEnvironmentIn completes, from environment variables, the settings for connections to a
// scenario's running clusters. Values in the scenario take precedence. f holds the command's flags,
// or is nil if the command has no flags for a running cluster.
func (a *App) UseEnvironmentIn(s *scenario.Scenario, f *AttachFlags) error {
	plain := f != nil && f.Plain()
	completed := map[*scenario.RunningCluster]bool{} // several trials may share a cluster
	for i := range s.Trials {
		c := &s.Trials[i].Cluster
		if c.RunningCluster == nil || completed[c.RunningCluster] {
			continue
		}
		completed[c.RunningCluster] = true
		e := &environment{getenv: os.Getenv, capabilities: a.Catalog.Capabilities(c.Store), withoutFlags: f == nil}
		if err := e.takeAccess(c.RunningCluster, plain, setIn(*c.RunningCluster)); err != nil {
			return err
		}
		a.printVariables(e.used)
	}
	return nil
}

// setIn returns a function that reports whether the cluster c has a value for the setting of a
// flag.
func setIn(c scenario.RunningCluster) func(flag string) bool {
	return func(flag string) bool {
		switch flag {
		case "tls":
			return c.TLS
		case "cacert":
			return c.CACert != ""
		case "cert":
			return c.Cert != ""
		case "key":
			return c.CertKey != ""
		case "insecure-skip-tls-verify":
			return c.SkipVerify
		case "user":
			return c.User != ""
		case "dial-timeout":
			return c.DialTimeout != 0
		}
		return false
	}
}
