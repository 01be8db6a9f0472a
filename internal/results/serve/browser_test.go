package serve

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/quorumbench/quorumbench/internal/testing/browser"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// open opens the list page of a server for the runs in a folder, and returns the browser and the
// URL of the server.
func open(t *testing.T, dir string) (*browser.Browser, string) {
	t.Helper()
	h := httptest.NewServer(newServer(t, dir, Options{Loopback: true}))
	t.Cleanup(h.Close)
	return browser.Open(t, h.URL+"/"), h.URL
}

// rows returns the number of runs in the list.
func rows(b *browser.Browser) int {
	return browser.Value[int](b, `document.querySelectorAll("table.runs tbody tr").length`)
}

func TestBrowserListsFiltersAndOverlays(t *testing.T) {
	dir := t.TempDir()
	put(t, short("nightly", 0, "3.6.0"), dir, "one")
	put(t, short("nightly", 1, "3.7.3"), dir, "two")
	put(t, short("release", 2, "3.7.3"), dir, "three")
	b, url := open(t, dir)
	if n := rows(b); n != 3 {
		t.Fatalf("the list has %d rows", n)
	}
	// The page can be used without a mouse: the first Tab selects the search field.
	b.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("nightly"), chromedp.KeyEvent(kb.Enter))
	b.WaitFor(`location.search.includes("q=nightly") && document.readyState === "complete"`)
	if n, found := rows(b), b.Text("#found"); n != 2 || !strings.HasPrefix(found, "2 of 3 runs") {
		t.Errorf("the list has %d rows: %s", n, found)
	}
	browser.Value[string](b, `document.querySelector("select[name=version]").value = "3.6.0"`)
	b.Click(".search button")
	b.WaitFor(`location.search.includes("version=3.6.0") && document.readyState === "complete"`)
	if n := rows(b); n != 1 {
		t.Errorf("the list has %d rows", n)
	}

	b.Do(chromedp.Navigate(url + "/"))
	b.Click(`input[value=one]`)
	b.Click(`input[value=three]`)
	b.Click("form[action='/overlay'] button")
	b.WaitFor(`location.pathname === "/overlay" && document.readyState === "complete"`)
	if text := b.Text("#overview"); !strings.Contains(text, "3.6.0") || !strings.Contains(text, "3.7.3") {
		t.Errorf("the overview lacks a version: %s", text)
	}
	b.Do(chromedp.Navigate(url + "/runs/two"))
	if title := b.Text("h1"); title != "nightly" {
		t.Errorf("the report has the title %q", title)
	}
	b.CheckErrors()
	b.CheckRequests(url + "/")
}

func TestBrowserFollowsAnActiveRun(t *testing.T) {
	r := short("active", 0, "")
	r.Seconds = 20
	_, base, active := started(t, r)
	b := browser.Open(t, base)
	active.Begin()
	for n := range 12 {
		active.Next()
		if n < 2 {
			continue
		}
		// The page shows new figures at most one second after they were recorded.
		browser.Value[string](b, `window.since = performance.now(), ""`)
		b.WaitFor(`document.querySelector("#phase").textContent === "measured, second %d"`, active.WrittenSeconds()-1)
		if ms := browser.Value[float64](b, "performance.now() - window.since"); ms > 1000 && n > 2 {
			t.Errorf("the page showed second %d after %.0f ms", n, ms)
		}
	}
	if title := b.Text("#trial"); title != "Trial 1 of 1: mixed (etcd 3.7.3)" {
		t.Errorf("the heading of the trial is %q", title)
	}
	if ops := b.Text("#ops"); !strings.Contains(ops, "/s of ") || !strings.HasSuffix(ops, "/s due") {
		t.Errorf("the throughput is %q", ops)
	}
	if n := browser.Value[int](b, `document.querySelectorAll("#processes tr").length`); n != 4 {
		t.Errorf("the page shows %d processes, want 4", n)
	}
	if points := browser.Value[string](b, `document.querySelector("#ops_chart polyline").getAttribute("points")`); strings.Count(points, ",") < 8 {
		t.Errorf("the throughput chart has the points %q", points)
	}
	for active.Next() {
	}
	active.Finish()
	b.WaitFor(`document.querySelector("#overview") !== null`) // the page has become the report
	b.CheckErrors()
	b.CheckRequests(base[:strings.Index(base, "/runs/")+1])
}

func TestBrowserShowsThatAStreamIsRefused(t *testing.T) {
	s, base, active := started(t, short("active", 0, ""))
	active.Begin()
	s.viewers.Store(maxViewers)
	b := browser.Open(t, base)
	b.WaitFor(`document.querySelector("#state").textContent === "the server refused the connection; reload the page"`)
	active.Kill()
}

func TestBrowserPagesFitEveryScreen(t *testing.T) {
	settle.LongOnly(t, "TestBrowserListsFiltersAndOverlays")
	dir := t.TempDir()
	put(t, short(strings.Repeat("a-long-name-", 8), 0, "3.6.0"), dir, strings.Repeat("long", 20))
	put(t, short("b", 1, "3.7.3"), dir, "b")
	active := short("c", 2, "").Start(t, dir)
	active.Begin()
	id, err := filepath.Rel(dir, active.Dir())
	must(t, err)
	b, url := open(t, dir)
	for _, path := range []string{"/", "/runs/b/files", "/runs/" + strings.ReplaceAll(id, "/", "%2F"), "/login"} {
		for _, width := range []int64{390, 800, 2560} {
			for _, theme := range []string{"light", "dark"} {
				_, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
				must(t, err)
				b.Do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(url+path))
				if over := browser.Value[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("%s is %d px wider than a screen of %d px", path, over, width)
				}
				if small := browser.Value[float64](b, `parseFloat(getComputedStyle(document.body).fontSize)`); small < 12 {
					t.Errorf("%s has a font size of %g px", path, small)
				}
			}
		}
	}
	// Every control has a name for screen readers.
	b.Do(chromedp.Navigate(url + "/"))
	if n := browser.Value[int](b, `[...document.querySelectorAll("input,select,button,a")].filter(e => !(e.ariaLabel || e.labels?.length || e.textContent.trim())).length`); n != 0 {
		t.Error(fmt.Sprint(n, " controls have no name"))
	}
	b.CheckErrors()
}
