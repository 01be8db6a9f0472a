package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// rule describes a pattern of English phrases that readers had to read twice.
type rule struct {
	name      string
	pattern   *regexp.Regexp
	exception *regexp.Regexp // matched text is acceptable if it also matches this pattern; may be nil
	remedy    string
}

func newRule(name, pattern, except, remedy string) rule {
	r := rule{name: name, pattern: regexp.MustCompile(pattern), remedy: remedy}
	if except != "" {
		r.exception = regexp.MustCompile(except)
	}
	return r
}

var rules = []rule{
	newRule("told", `(?i)\b(?:is|are|was|were|been|be|being) told\b|\btells?\b(?: \w+)?|\btold (?:of|that|to|again|so)\b`, `(?i)\btells? (?:apart|them|yet)\b`,
		"returned, received, reports, notified"),
	newRule("of-first", `(?:^|[.;:(] ?)Of (?:an?|the|all|each|it|them|these|those|which|whom|what|two|one|[a-z]+s)\b`, "", "put the noun first"),
	newRule("what-is", `(?:^|[.;:,(] ?)[Ww]hat (?:is|are|was|were|it|they|an?|the|of|has|had|no|must|can|could|may|came|comes|went|waits?|fails?|ends?|begins?|there|we|nobody|somebody|else|stands?|lies?|crosses|happens? to)\b`, "",
		"name the thing"),
	newRule("who", `(?i)\b(?:whoever|who (?:asks|reads|only|checks)|(?:for|by|to|of) who|nobody|somebody)\b`, "", "name the actor: the caller, the reader, the server"),
	newRule("pronoun", `(?i)\b(?:likewise|so many|so (?:much|often) as|so long as it|of (?:ours|theirs|its own|his|one's)|(?:that|as) one of|is one that|(?:is|are|was) to be\b|has to be said)\b`, "",
		"repeat the noun; say must, will, next"),
	newRule("beside", `(?i)\bbeside\b`, "", "next to, as well as, concurrently with"),
	newRule("behind", `(?i)\bbehind (?:it|them|that|which|the (?:write|read|end|window|answer|call|load|sending|session))\b`, "", "after"),
	newRule("from-on", `(?i)\bfrom [^.;\n]{1,24} (?:on|up|upwards)\b`, "", "at least; since; starting with"),
	newRule("come", `(?i)\b(?:comes?|came) (?:of|to (?:be|it)|about|by itself)\b|\bcomes? (?:back )?as\b`, "", "results from, becomes"),
	newRule("stand-lie", `(?i)\b(?:stands?|lies?|lay|lain) (?:in|on|at|by|beside|behind|above|below|beyond|between|there|apart|within)\b`, "", "is, are"),
	newRule("held-to", `(?i)\b(?:is|are|was|were) held to\b`, "", "checked against, compared with"),
	newRule("have-no", `(?i)\b(?:has|have|had) no (?:place|room|say|word|way)\b|\bmakes? no (?:word|figure)\b`, "", "cannot; is not"),
	newRule("mended", `(?i)\bmend(?:ed|s|ing)?\b`, "", "fix"),
	newRule("answers", `(?i)\banswers? (?:to|for) (?:what|which|whom)\b|\bas good as\b|\bas well as it can\b|\bhow (?:it|they) (?:ended|went|came)\b`, "", "say it directly"),
	newRule("goes-by", `(?i)\b(?:goes|went|go|gone) (?:by itself|with its|with the|for good|away for)\b|\bfor good\b`, "", "expires, is removed, permanently"),
	newRule("alone", `(?i)\b(?:reads?|writes?|tests?|values?|figures?|members?|lines?|names?|numbers?|times?|that|this|it|them|these|those) alone\b`, "", "only"),
}

// names finds declarations of identifiers that are or contain unclear words, such as pronouns and
// prepositions.
var names = regexp.MustCompile(`\b(?:func(?: \([^)]*\))? |type )([A-Za-z0-9_]*(?:[Tt]old|[Mm]eant|[Bb]eforehand|[Ww]hose|[Bb]eside|[Cc]ame|[Ll]ikewise|[Mm]ended|[Nn]obody|[Oo]urs)[A-Za-z0-9_]*)|\bfunc(?: \([^)]*\))? (of|at|is|has|one|in|to|by|on|so|as)\(`)

// goText finds comments and string literals in Go source.
var goText = regexp.MustCompile("//[^\n]*|\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`")

// place is a position in a file at which a rule matches.
type place struct {
	file   string
	line   int
	rule   string
	remedy string
	match  string
	text   string
}

func (p place) folder() string { return path.Dir(p.file) }

// String returns the place as one line, in a form that editors can follow.
func (p place) String() string {
	text := strings.TrimSpace(p.text)
	if len(text) > 110 {
		text = text[:110]
	}
	return fmt.Sprintf("%s:%d: %s (%s): %q in %q", p.file, p.line, p.rule, p.remedy, p.match, text)
}

// check returns the places in one file.
func check(file, source string) []place {
	if strings.HasSuffix(file, ".go") {
		return checkGo(file, source)
	}
	var places []place
	fenced := false
	for i, line := range strings.Split(source, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			places = appendPlaces(places, file, i+1, line)
		}
	}
	return places
}

func checkGo(file, source string) (places []place) {
	if strings.HasPrefix(source, "// Code generated") {
		return nil
	}
	line, scanned := 1, 0
	for _, at := range goText.FindAllStringIndex(source, -1) {
		line += strings.Count(source[scanned:at[0]], "\n")
		scanned = at[0]
		literal := source[at[0]:at[1]]
		if literal[0] == '"' && !strings.Contains(literal, " ") {
			continue // a name or a key, not a sentence
		}
		text := strings.Trim(strings.TrimLeft(literal, "/ "), "\"`")
		for i, part := range strings.Split(text, "\n") {
			places = appendPlaces(places, file, line+i, part)
		}
	}
	for i, text := range strings.Split(source, "\n") {
		for _, m := range names.FindAllStringSubmatch(text, -1) {
			places = append(places, place{file, i + 1, "name", "verb and object, in the field's words", m[1] + m[2], text})
		}
	}
	return places
}

// appendPlaces appends the first match of each rule in a line of text.
func appendPlaces(places []place, file string, line int, text string) []place {
	for _, r := range rules {
		for _, m := range r.pattern.FindAllString(text, -1) {
			if r.exception != nil && r.exception.MatchString(m) {
				continue
			}
			places = append(places, place{file, line, r.name, r.remedy, strings.Trim(m, " .;:,("), text})
			break
		}
	}
	return places
}
