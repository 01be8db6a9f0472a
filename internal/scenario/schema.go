package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// SchemaFile is the name of the file with the JSON Schema. Scenario files refer to it as a file in
// their own folder.
const SchemaFile = "scenario.schema.json"

// Schema returns the JSON Schema (draft 7) of scenario files. With it, editors complete and check
// scenario files. The schema accepts every file that Parse accepts, except that it also checks
// values in defaults that no trial uses. It accepts more files than Parse, because it does not
// know, for example, which parameters exclude each other and what a store supports.
func Schema(c Catalog) ([]byte, error) {
	settings, err := settingsSchema(c)
	if err != nil {
		return nil, err
	}
	w := &schemaWriter{stores: c.Stores(), settings: settings, all: Parameters(c.Applications()), load: fileLoad()}
	stm := DefaultSTM()
	w.load.STM, w.load.Watch, w.load.Compact = &stm, &Watch{Streams: 1}, Compaction{KeptRevisions: defaultKeptRevisions}
	definitions := map[string]jsonSchema{}
	for _, p := range w.all {
		if mapping, _ := p.group(); mapping != "" {
			continue // part of the mapping
		}
		definitions[p.Key] = w.define(p)
	}
	root := w.fileSchema()
	root["$schema"], root["title"], root["definitions"] = "http://json-schema.org/draft-07/schema#", "quorumbench scenario", definitions
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// schemaWriter derives the JSON Schema from the parameters.
type schemaWriter struct {
	stores   []string
	settings jsonSchema
	all      []*Parameter
	load     Load // with the default values
}

// fileSchema returns the schema of a file. It refers to the parameters' definitions.
func (w *schemaWriter) fileSchema() jsonSchema {
	properties := map[string]jsonSchema{}
	for _, k := range FileKeys() {
		var s jsonSchema
		switch k.Key {
		case "defaults":
			s = objectSchema(w.references(func(p *Parameter) bool { return !p.trialOnly }))
		case "trials":
			trial := objectSchema(w.references(func(*Parameter) bool { return true }))
			s = jsonSchema{"type": "array", "minItems": 1, "items": trial}
		default:
			s = k.schema()
		}
		properties[k.Key] = s.with("description", k.Meaning)
	}
	return objectSchema(properties, "trials")
}

// references returns references to the definitions of parameters.
func (w *schemaWriter) references(include func(*Parameter) bool) map[string]jsonSchema {
	all := map[string]jsonSchema{}
	for _, p := range w.all {
		if mapping, _ := p.group(); mapping == "" && include(p) {
			all[p.Key] = reference(p.Key)
		}
	}
	return all
}

func reference(key string) jsonSchema { return jsonSchema{"$ref": "#/definitions/" + key} }

// define returns the schema of a parameter, with its description and its default.
func (w *schemaWriter) define(p *Parameter) jsonSchema {
	s := w.valueSchema(p)
	if v := w.defaultValue(p); v != nil {
		s = s.with("default", v)
	}
	description := cmp.Or(p.FileMeaning, p.Meaning)
	if bounds := p.Bounds(); bounds != "" {
		description += " (" + strings.ReplaceAll(bounds, "`", "") + ")"
	}
	if p.Operations.name != "" {
		description += "; only for " + p.Operations.name
	}
	return s.with("description", description)
}

// defaultValue returns the default of a parameter, or nil if it has none or if the default depends
// on other parameters.
func (w *schemaWriter) defaultValue(p *Parameter) any {
	if s, ok := p.value.(*setting); ok && !s.severalDefaults {
		if s.Unit == application.Seconds {
			return settingText(s.Unit, s.Default)
		}
		return s.Default
	}
	if p.value == nil || slices.Contains([]string{"mix", "target", "preload", "arrival", "watch.watchers"}, p.Key) {
		return nil
	}
	return p.value.encode(&w.load)
}

// valueSchema returns the schema of a parameter's values.
func (w *schemaWriter) valueSchema(p *Parameter) jsonSchema {
	switch p.Key {
	case "matrix":
		lists := map[string]jsonSchema{}
		for key, s := range w.references(func(p *Parameter) bool { return !p.trialOnly && !p.notInMatrix }) {
			lists[key] = listSchema(s).with("description", "values of "+key)
		}
		return objectSchema(lists)
	case "steps":
		s := objectSchema(map[string]jsonSchema{"clients": listSchema(reference("clients")), "rate": listSchema(reference("rate"))})
		return s.with("minProperties", 1).with("maxProperties", 1)
	case "baseline":
		return objectSchema(w.references(func(p *Parameter) bool { return slices.Contains(baselineKeys(), p.Key) })).with("minProperties", 1)
	case "store":
		named := w.references(func(p *Parameter) bool { return slices.Contains(variantKeys(), p.Key) })
		named["name"] = enumSchema(w.stores...)
		return anyOf(named["name"], objectSchema(named, "name"))
	case "settings":
		return w.settings
	case "stm":
		return w.mappingSchema(p.Key)
	case "watch":
		return w.mappingSchema(p.Key, "watchers").with("type", []string{"object", "string"}).orWord(noWatch)
	case "compact":
		return w.mappingSchema(p.Key, "every").with("type", []string{"object", "string"}).orWord(noCompaction)
	}
	if p.fileSchema != nil {
		return p.fileSchema()
	}
	return p.value.schema()
}

// listSchema returns the schema of a list with at least one value.
func listSchema(value jsonSchema) jsonSchema {
	return jsonSchema{"type": "array", "minItems": 1, "items": value}
}

// mappingSchema returns the schema of a mapping whose entries are parameters.
func (w *schemaWriter) mappingSchema(mapping string, required ...string) jsonSchema {
	entries := map[string]jsonSchema{}
	for _, p := range w.all {
		if of, key := p.group(); of == mapping {
			entries[key] = w.define(p)
		}
	}
	return objectSchema(entries, required...)
}

// settingsSchema returns the schema of the stores' settings. It accepts the settings of all stores,
// because the store can be given elsewhere in the file.
func settingsSchema(c Catalog) (jsonSchema, error) {
	stores, schemas := map[string][]string{}, map[string][]jsonSchema{}
	for _, store := range c.Stores() {
		defaults, err := c.Settings(store, nil)
		if err != nil {
			return nil, err
		}
		for _, f := range settingFields(defaults) {
			s := typeSchema(f.kind)
			stores[f.name] = append(stores[f.name], store)
			if !slices.ContainsFunc(schemas[f.name], func(known jsonSchema) bool { return reflect.DeepEqual(known, s) }) {
				schemas[f.name] = append(schemas[f.name], s)
			}
		}
	}
	all := map[string]jsonSchema{}
	for name, s := range schemas {
		all[name] = s[0]
		if len(s) > 1 {
			all[name] = anyOf(s...)
		}
		all[name] = all[name].with("description", "setting of "+strings.Join(stores[name], ", "))
	}
	return objectSchema(all), nil
}

// typeSchema returns the schema of a setting with the given type. It accepts what the YAML library
// accepts for this type.
func typeSchema(t reflect.Type) jsonSchema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		return jsonSchema{"type": []string{"string", "null"}}.withPattern(anyDuration, "write a duration such as 500ms, 5s or 1m")
	case k == reflect.Bool:
		return jsonSchema{"type": []string{"boolean", "null"}}
	case k >= reflect.Int && k <= reflect.Uint64:
		return jsonSchema{"type": []string{"number", "string", "null"}, "minimum": 0}.withPattern(anyNumber, "write a whole number such as 100")
	case k == reflect.Slice:
		return jsonSchema{"type": []string{"array", "null"}, "items": textSchema()}
	case k == reflect.Map:
		return jsonSchema{"type": []string{"object", "null"}, "additionalProperties": textSchema()}
	}
	return jsonSchema{"type": []string{"string", "number", "boolean", "null"}}
}
