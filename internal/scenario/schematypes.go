package scenario

import (
	"fmt"
	"maps"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// jsonSchema is a JSON Schema (draft 7), or a part of it.
type jsonSchema map[string]any

// with adds the given keyword to a copy of the schema, and returns the copy.
func (s jsonSchema) with(keyword string, value any) jsonSchema {
	s = maps.Clone(s)
	if s == nil {
		s = jsonSchema{}
	}
	s[keyword] = value
	return s
}

// without removes the given keywords from a copy of the schema, and returns the copy.
func (s jsonSchema) without(keywords ...string) jsonSchema {
	s = maps.Clone(s)
	for _, k := range keywords {
		delete(s, k)
	}
	return s
}

// withPattern returns a copy of the schema whose texts must match a regular expression. Editors
// show the remedy if a text does not match. The expressions in this file have the same meaning in
// JavaScript, which JSON Schema uses, and in Go.
func (s jsonSchema) withPattern(pattern, remedy string) jsonSchema {
	return s.with("pattern", "^("+pattern+")$").with("patternErrorMessage", remedy)
}

// orWord returns a copy of the schema that also accepts a word.
func (s jsonSchema) orWord(word string) jsonSchema {
	pattern, _ := s["pattern"].(string)
	remedy, _ := s["patternErrorMessage"].(string)
	if pattern == "" {
		return s.withPattern(word, "write "+word)
	}
	return s.withPattern(strings.TrimSuffix(strings.TrimPrefix(pattern, "^("), ")$")+"|"+word, remedy+", or "+word)
}

func anyOf(all ...jsonSchema) jsonSchema { return jsonSchema{"anyOf": all} }

func enumSchema(words ...string) jsonSchema { return jsonSchema{"enum": words} }

// objectSchema returns the schema of a mapping that has no other keys.
func objectSchema(properties map[string]jsonSchema, required ...string) jsonSchema {
	s := jsonSchema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		return s.with("required", required)
	}
	return s
}

// Regular expressions for numbers and times that are texts in YAML. YAML 1.2 reads a number with
// underscores as a text.
const (
	groupedInteger = `[-+]?[0-9_]*_[0-9_]*`
	anyInteger     = `[-+]?[0-9_]+`
	groupedNumber  = `[-+]?(0[xX][0-9a-fA-FpP._+-]*|[0-9.eE+-]*_[0-9a-fA-FxXpP._+-]*)`
	anyNumber      = `[-+]?[0-9._][0-9a-fA-FxXpP._+-]*`
	anySize        = `\s*[0-9][0-9_]*(\.[0-9]+)?\s*(([KMGT]i?|k)?B)?`
	timeUnit       = `(ns|us|µs|μs|ms|s|m|h)`
	// anyDuration matches durations of at least 0.
	anyDuration = `[-+]?0|\+?(([0-9]+\.?[0-9]*|\.[0-9]+)` + timeUnit + `)+|-([0.]+` + timeUnit + `)+`
	endpoint    = `[^ ,/@?#]+:\+?[0-9]+`
)

// A function whose name begins with a kind of value, such as boolSchema, returns the JSON Schema of
// that kind of value.

func boolSchema() jsonSchema { return jsonSchema{"type": "boolean"} }

// textSchema accepts every scalar, because YAML reads an unquoted text such as 3.9 as a number.
func textSchema() jsonSchema { return jsonSchema{"type": []string{"string", "number", "boolean"}} }

func lineSchema() jsonSchema {
	return textSchema().withPattern(`[^\n\r]*\S[^\n\r]*`, "write a text on a single line")
}

func keySchema() jsonSchema { return textSchema().with("minLength", 1) }

func runNameSchema() jsonSchema {
	return lineSchema().withPattern(strings.Trim(validName.String(), "^$"), "use at most 120 letters, digits and . _ = + , - and begin with a letter or digit")
}

func trialNameSchema() jsonSchema {
	return lineSchema().withPattern(`([A-Za-z0-9._=+,-]|\{[^{}]*\})+`, "use letters, digits and . _ = + , - and {KEY} for the value of a key")
}

func wordsSchema() jsonSchema {
	return jsonSchema{"type": []string{"array", "string", "number", "boolean"}, "items": lineSchema()}
}

func durationSchema() jsonSchema {
	return jsonSchema{"type": []string{"string", "integer"}, "minimum": 0, "maximum": 0, "examples": []string{"500ms", "5s", "1m30s"}}.
		withPattern(anyDuration, "write a duration such as 500ms, 5s or 1m")
}

func positiveDurationSchema() jsonSchema {
	aboveZero := jsonSchema{"pattern": "[1-9]", "patternErrorMessage": "write a duration above 0"}
	return durationSchema().with("type", "string").with("allOf", []jsonSchema{aboveZero}).without("minimum", "maximum")
}

func shareSchema() jsonSchema {
	return jsonSchema{"type": []string{"number", "string"}, "exclusiveMinimum": 0, "exclusiveMaximum": 1, "examples": []string{"2%"}}.
		withPattern(`\s*`+anyNumber+`\s*%?\s*`, "write a share such as 2%")
}

func rateSchema() jsonSchema {
	return jsonSchema{"type": []string{"number", "string"}, "exclusiveMinimum": 0, "maximum": MaxRate, "examples": []any{500, "50% of TRIAL"}}.
		withPattern(anyNumber+`|\s*`+anyNumber+`\s*%\s*of\s+\S+`, "write operations per second, for example 5000, or a percentage of a trial's throughput, for example 50% of TRIAL")
}

func endpointsSchema() jsonSchema {
	return jsonSchema{"type": []string{"array", "string"}, "minItems": 1, "items": jsonSchema{"type": "string"}.withPattern(endpoint, "write HOST:PORT")}.
		withPattern(`\s*`+endpoint+`\s*(,\s*`+endpoint+`\s*)*`, "write HOST:PORT, or a list of them")
}

func userSchema() jsonSchema {
	return textSchema().withPattern(`[^:]+:.*`, "write NAME:PASSWORD or NAME:env:VARIABLE")
}

func tlsSchema() jsonSchema {
	return objectSchema(map[string]jsonSchema{"cacert": lineSchema(), "cert": lineSchema(), "key": lineSchema(), "insecure-skip-tls-verify": boolSchema()})
}

func envSchema() jsonSchema {
	return jsonSchema{"type": "object", "minProperties": 1, "maxProperties": maxEnv, "propertyNames": jsonSchema{"pattern": envName.String()}, "additionalProperties": textSchema()}
}

func targetSchema() jsonSchema {
	names := kv.TargetNames()
	return anyOf(enumSchema(names...), jsonSchema{"type": "string"}.
		withPattern(strings.Join(names, "|")+`|member:\+?[0-9]*[1-9][0-9]*`, "choose "+strings.Join(names, ", ")+" or member:N"))
}

// words returns a function that returns the schema of the given words.
func words(all ...string) func() jsonSchema {
	return func() jsonSchema { return enumSchema(all...) }
}

// valueNames returns a function that returns the schema of the names of the values from first to
// the value before end.
func valueNames[T interface {
	~uint8
	String() string
}](first, end T) func() jsonSchema {
	return func() jsonSchema {
		var names []string
		for v := first; v < end; v++ {
			names = append(names, v.String())
		}
		return enumSchema(names...)
	}
}

// withDefault returns a function that adds a default to a schema.
func withDefault(schema func() jsonSchema, value any) func() jsonSchema {
	return func() jsonSchema { return schema().with("default", value) }
}

// integers returns a function that returns the schema of whole numbers.
func integers(least, most int64) func() jsonSchema {
	return func() jsonSchema { return integerSchema(least, most) }
}

// integerSchema returns the schema of whole numbers that are not quoted.
func integerSchema(least, most int64) jsonSchema {
	return boundedSchema("integer", float64(least), float64(most)).withPattern(groupedInteger, "write a whole number such as 100 or 10_000")
}

// boundedSchema returns the schema of numbers within bounds. The caller adds the pattern for numbers
// that are texts.
func boundedSchema(kind string, least, most float64) jsonSchema {
	s := jsonSchema{"type": []string{kind, "string"}, "minimum": least}
	if most < 1<<53 { // a larger value is not a real limit, and JSON could not represent it exactly
		s["maximum"] = most
	}
	return s
}

// numberSchema returns the schema of numbers that are not quoted, without bounds.
func numberSchema() jsonSchema {
	return jsonSchema{"type": []string{"number", "string"}}.withPattern(groupedNumber, "write a number such as 0.5")
}

func sizeSchema(least, most float64) jsonSchema {
	return boundedSchema("integer", least, most).withPattern(anySize, "write a size such as 256, 1KB, 1KiB or 1MB").with("examples", []any{256, "1KiB"})
}

func operationNames() (names []string) {
	for k := range kv.NumKinds {
		if k != kv.Watch { // watchers run concurrently with a load
			names = append(names, k.String())
		}
	}
	return names
}

// consistencySchema returns the schema of consistency levels, including their short names.
func consistencySchema() jsonSchema {
	s := valueNames(kv.Linearizable, kv.NumConsistencies)()
	return enumSchema(append(s["enum"].([]string), "l", "s")...)
}

func mixSchema() jsonSchema {
	weight := numberSchema().with("minimum", minWeight).with("maximum", maxWeight)
	weights := map[string]jsonSchema{}
	for _, name := range operationNames() {
		weights[name] = weight
	}
	entry := map[string]jsonSchema{"operation": enumSchema(operationNames()...), "consistency": consistencySchema(), "weight": weight}
	s := objectSchema(weights).with("minProperties", 1)
	return s.with("type", []string{"object", "array"}).with("minItems", 1).with("items", objectSchema(entry, "operation"))
}

func distributionSchema() jsonSchema {
	all := []jsonSchema{
		enumSchema(Sequential, Uniform, Zipfian, Hotspot),
		jsonSchema{"type": "string"}.withPattern(`zipfian:`+anyNumber+`|hotspot:`+anyNumber+`:`+anyNumber, "write zipfian:0.99 or hotspot:0.2:0.8"),
	}
	for _, name := range []string{Sequential, Uniform, Zipfian, Hotspot} {
		entries := map[string]jsonSchema{"name": enumSchema(name)}
		for _, p := range (&Distribution{Name: name}).parameters() {
			limit := "exclusiveMaximum"
			if p.allowsOne {
				limit = "maximum"
			}
			entries[p.key] = numberSchema().with("exclusiveMinimum", 0).with(limit, 1).with("default", p.defaultValue)
		}
		all = append(all, objectSchema(entries, "name"))
	}
	return anyOf(all...)
}

// settingSchema returns the schema of an application's parameter.
func settingSchema(p *application.Parameter) jsonSchema {
	switch p.Unit {
	case application.Seconds:
		return durationSchema()
	case application.Bytes:
		return sizeSchema(p.Min, p.Max)
	case application.Integer:
		return boundedSchema("integer", p.Min, p.Max).withPattern(anyInteger, "write a whole number such as 100")
	}
	return boundedSchema("number", p.Min, p.Max).withPattern(anyNumber, "write a number such as 0.5")
}

// faultsSchema returns the schema of faults: a list, or one text with commas.
func faultsSchema() jsonSchema {
	const remedy = "write, for example, kill leader at 10s for 3s"
	text := faultPattern()
	s := jsonSchema{"type": []string{"array", "string"}, "minItems": 1, "examples": []any{[]string{"kill leader at 10s for 3s"}, "none"}}
	entry := faultSchema()
	entry["type"] = []string{"string", "object"}
	return s.withPattern(`none|`+text+`(,`+text+`)*`, remedy).with("items", entry.withPattern(text, remedy))
}

// faultMembers returns a regular expression for the member of a fault.
func faultMembers() string { return strings.Join(fault.MemberNames(), "|") + `|m\+?[0-9]*[1-9][0-9]*` }

// faultSchema returns the schema of a fault as a mapping.
func faultSchema() jsonSchema {
	cluster, member := faultKinds()
	kind := enumSchema(append(member, cluster...)...)
	entries := map[string]jsonSchema{
		"do": kind, "member": anyOf(enumSchema(fault.MemberNames()...), jsonSchema{"type": "string"}.withPattern(faultMembers(), "choose "+strings.Join(fault.MemberNames(), ", ")+", or a member such as m1")),
		"at": durationSchema(), "for": durationSchema(), "every": durationSchema(),
		"by":     durationSchema().withPattern(anyDuration+`|\s*`+anyNumber+`\s*%`, "write a duration or a percentage"),
		"of":     anyOf(jsonSchema{"type": "array", "items": kind}, jsonSchema{"type": "string"}.withPattern(faultKindList(), "write kinds of faults, for example kill/pause")),
		"repeat": boundedSchema("integer", 1, fault.MaxFaults).withPattern(anyInteger, "write a whole number such as 10"),
		"from":   enumSchema(fault.PartnerNames()...), "direction": enumSchema(fault.DirectionNames()...), "to": lineSchema(),
	}
	s := objectSchema(entries, "do")
	s["if"], s["else"] = jsonSchema{"properties": map[string]jsonSchema{"do": enumSchema(cluster...)}}, jsonSchema{"required": []string{"member"}}
	return s
}

// faultPattern returns a regular expression for a fault as a text: the kind, the member unless the
// fault affects the whole cluster, and pairs of a field and its value.
func faultPattern() string {
	cluster, member := faultKinds()
	fields := `(\s+((at|for|every)\s+(` + anyDuration + `)|by\s+[^\s,]+|of\s+` + faultKindList() + `|repeat\s+` + anyInteger + `|from\s+(` + strings.Join(fault.PartnerNames(), "|") + `)|direction\s+(` + strings.Join(fault.DirectionNames(), "|") + `)|(to|member)\s+[^\s,]+))*`
	return fmt.Sprintf(`\s*((%s)(\s+all)?|(%s)\s+(%s))%s\s*`, strings.Join(cluster, "|"), strings.Join(member, "|"), faultMembers(), fields)
}

// faultKindList returns a regular expression for kinds with slashes between them.
func faultKindList() string {
	cluster, member := faultKinds()
	kind := "(" + strings.Join(append(cluster, member...), "|") + ")"
	return kind + "(" + fault.KindSeparator + kind + ")*"
}

// faultKinds returns the names of the kinds that affect the whole cluster, and of the kinds that
// affect a member.
func faultKinds() (cluster, member []string) {
	for _, k := range append(fault.All(), fault.Random) {
		if k.AffectsCluster() {
			cluster = append(cluster, k.String())
		} else {
			member = append(member, k.String())
		}
	}
	return cluster, member
}
