package consul

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// The paths of the catalog's endpoints.
const (
	nullRegister   = "/v1/catalog/register"
	nullDeregister = "/v1/catalog/deregister"
	nullServices   = "/v1/catalog/node-services/"
	nullChecks     = "/v1/health/node/"
	nullHealth     = "/v1/health/service/"
	nullNodes      = "/v1/catalog/nodes"
)

// isCatalog reports whether a path belongs to the catalog, and whether a query on this path can
// block.
func isCatalog(path []byte) (is, query bool) {
	if query = bytes.HasPrefix(path, []byte(nullHealth)); query {
		return true, true
	}
	switch p := string(path); {
	case p == nullRegister, p == nullDeregister, p == nullNodes, strings.HasPrefix(p, nullServices), strings.HasPrefix(p, nullChecks):
		return true, false
	}
	return false, false
}

// services responds to requests about the catalog.
func (m *nullMember) services(b []byte, r *null.HTTPRequest, wrong null.Kind) []byte {
	c := m.catalog
	switch {
	case c == nil && string(r.Method) == "GET":
		return appendJSONResponse(b, indexFields(nullJSON, 2), nil)
	case c == nil:
		return append(b, m.writeResponse...)
	}
	c.Lock(null.SingleShard)
	defer c.Unlock(null.SingleShard)
	switch path := string(r.Path); {
	case path == nullRegister:
		return c.register(b, r.Body, wrong == null.LieLost)
	case path == nullDeregister:
		return c.deregister(b, r.Body, wrong == null.LieLost)
	case path == nullNodes:
		return c.nodes(b)
	case strings.HasPrefix(path, nullHealth):
		return c.health(b, path[len(nullHealth):])
	case strings.HasPrefix(path, nullChecks):
		return c.node(b, path[len(nullChecks):], wrong, func(e *nullNode) any {
			return []*api.HealthCheck{checkOf(e)}
		}, []*api.HealthCheck{})
	default:
		return c.node(b, path[len(nullServices):], wrong, func(e *nullNode) any {
			return map[string]any{"Services": []*api.AgentService{serviceOf(e)}}
		}, map[string]any{"Services": nil})
	}
}

func (c *nullCatalog) register(b, body []byte, lost bool) []byte {
	var reg api.CatalogRegistration
	if err := json.Unmarshal(body, &reg); err != nil || reg.Node == "" {
		return null.AppendResponse(b, "400 Bad Request", nullPlain, "Request decode failed")
	}
	e := c.Get([]byte(reg.Node))
	if reg.Service == nil && e == nil {
		return null.AppendResponse(b, "500 Internal Server Error", nullPlain, "Missing node registration")
	}
	if lost {
		return appendJSONResponse(b, nullJSON+nullMeta, true)
	}
	of, says := nullInstance{status: api.HealthCritical}, []byte(nil)
	if e != nil {
		of, says = e.Data, e.Value
	}
	if s := reg.Service; s != nil {
		of.service, says = s.Service, []byte(s.Meta["of"])
	}
	if reg.Check != nil {
		of.status = reg.Check.Status
	}
	c.Put([]byte(reg.Node), says).Data = of
	c.queries.wakeQueries("")
	return appendJSONResponse(b, nullJSON+nullMeta, true)
}

func (c *nullCatalog) deregister(b, body []byte, lost bool) []byte {
	var gone api.CatalogDeregistration
	if err := json.Unmarshal(body, &gone); err != nil {
		return null.AppendResponse(b, "400 Bad Request", nullPlain, "Request decode failed")
	}
	if !lost && c.Get([]byte(gone.Node)) != nil {
		c.Delete([]byte(gone.Node))
		c.queries.wakeQueries("")
	}
	return appendJSONResponse(b, nullJSON+nullMeta, true)
}

// health responds with those instances of a service whose checks pass.
func (c *nullCatalog) health(b []byte, service string) []byte {
	list := []map[string]any{}
	for _, e := range c.Prefixed(nil) {
		if e.Data.service == service && e.Data.status == api.HealthPassing {
			list = append(list, map[string]any{"Service": serviceOf(e), "Checks": []any{checkOf(e)}})
		}
	}
	return appendJSONResponse(b, indexFields(nullJSON, c.Revision()), list)
}

// nodes responds with a list of all nodes.
func (c *nullCatalog) nodes(b []byte) []byte {
	list := []*api.Node{}
	for _, e := range c.Prefixed(nil) {
		list = append(list, &api.Node{Node: e.Key, ModifyIndex: uint64(e.Changed)})
	}
	return appendJSONResponse(b, indexFields(nullJSON, c.Revision()), list)
}

// node responds with the result of the function `describe` for the named node. If the node does not
// exist, the response is the value of the parameter `absent`.
func (c *nullCatalog) node(b []byte, name string, wrong null.Kind, describe func(*nullNode) any, absent any) []byte {
	what := absent
	if e := c.Get([]byte(name)); e != nil && wrong != null.LieAbsent {
		what = describe(e)
	}
	return appendJSONResponse(b, indexFields(nullJSON, c.Revision()), what)
}

func serviceOf(e *nullNode) *api.AgentService {
	return &api.AgentService{ID: e.Key, Service: e.Data.service, Port: 80, Meta: map[string]string{"of": string(e.Value)}, ModifyIndex: uint64(e.Changed)}
}

func checkOf(e *nullNode) *api.HealthCheck {
	return &api.HealthCheck{Node: e.Key, CheckID: e.Key, Name: "health", Status: e.Data.status, ServiceID: e.Key, ModifyIndex: uint64(e.Changed)}
}
