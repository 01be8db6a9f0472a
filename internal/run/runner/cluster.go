package runner

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// selectCluster returns the cluster for a trial. It reuses the current cluster if the cluster has
// the same launch settings and all its members are running. Otherwise it starts a new cluster or
// attaches to a running one.
func (r *run) selectCluster(ctx context.Context, spec *scenario.Trial) (trial.Cluster, error) {
	if r.current != nil && r.current.key == spec.Cluster.Key && r.current.allRunning() {
		return r.current.trial, nil
	}
	if err := r.stopCluster(ctx); err != nil {
		return trial.Cluster{}, err
	}
	st, err := r.Lookup(spec.Cluster.Store)
	if err != nil {
		return trial.Cluster{}, err
	}
	r.started++
	id := fmt.Sprintf("cluster-%d", r.started)
	if spec.Cluster.RunningCluster != nil {
		return r.attach(st, spec, id)
	}
	return r.start(ctx, st, spec, id)
}

// stopCluster stops the current cluster if the run started it.
func (r *run) stopCluster(ctx context.Context) error {
	now := r.current
	r.current = nil
	if now == nil || now.trial.Started == nil {
		return nil
	}
	r.report(Progress{Stage: Stopping, Name: now.name})
	err := now.trial.Started.Stop(ctx)
	r.createdFolders = host.RemoveCreatedFolders(r.createdFolders)
	if notes := now.trial.Started.LogNotes(); len(notes) > 0 && now.description.ID != "" {
		now.description.Notes = append(now.description.Notes, notes...)
		err = joinErrors(err, r.out.AddCluster(now.description))
	}
	return err
}

// attach connects to a cluster that is already running.
func (r *run) attach(st store.Store, spec *scenario.Trial, id string) (trial.Cluster, error) {
	access, err := load.ReadAccess(spec.Cluster.RunningCluster)
	if err != nil {
		return trial.Cluster{}, err
	}
	if from, ok := r.generator(spec).(host.Remote); ok {
		access.Dial = from.Reach()
	}
	c := trial.Cluster{ID: id, Store: st, Given: access, Shared: loopback(access.Endpoints), Guard: r.guard(st, access, spec)}
	r.current = &currentCluster{key: spec.Cluster.Key, trial: c}
	return c, r.out.AddCluster(record.Cluster{ID: id, Store: st.Name()})
}

// start starts a new cluster.
func (r *run) start(ctx context.Context, st store.Store, spec *scenario.Trial, id string) (trial.Cluster, error) {
	name := fmt.Sprintf("%s cluster of %d", st.Name(), spec.Cluster.Members)
	r.report(Progress{Stage: Starting, Name: name})
	exec := spec.Cluster.Exec
	if !r.startsNoMembers(spec) {
		var err error
		if exec, err = Server(st, &spec.Cluster); err != nil {
			return trial.Cluster{}, err
		}
	}
	dir, err := r.dataDir()
	if err != nil {
		return trial.Cluster{}, err
	}
	started, err := cluster.Start(ctx, st, cluster.Spec{
		Name: id, Members: spec.Cluster.Members, Hosts: r.membersOn(spec), Exec: exec, Version: spec.Cluster.Version, Self: r.Self,
		Settings: spec.Cluster.Settings, Env: spec.Cluster.Environment(), Dir: dir, LogDir: filepath.Join(r.out.Dir(), "logs", id),
		Disks: spec.Cluster.FaultDisks, Network: spec.Cluster.FaultNetwork, Spare: spec.Cluster.SpareMember,
	})
	if err != nil {
		r.createdFolders = host.RemoveCreatedFolders(r.createdFolders)
		return trial.Cluster{}, err
	}
	r.current = &currentCluster{key: spec.Cluster.Key, name: name, trial: trial.Cluster{ID: id, Store: st, Started: started}} // Shared is set for each trial
	about, err := r.describe(ctx, started, spec, id)
	if err != nil {
		return trial.Cluster{}, err
	}
	if err := r.resumed.checkServer(spec, about.Version); err != nil {
		return trial.Cluster{}, err
	}
	r.current.trial.Durability, r.current.description = about.Durability, about
	return r.current.trial, r.out.AddCluster(about)
}

// sharesGenerator reports whether a member runs on a machine that generates the trial's load.
func (r *run) sharesGenerator(own *cluster.Cluster, spec *scenario.Trial) bool {
	generators := r.generators(spec)
	return slices.ContainsFunc(own.Members(), func(m cluster.Member) bool {
		return slices.ContainsFunc(generators, func(g host.Host) bool { return r.descriptions[m.Host].Place.SameMachine(r.descriptions[g].Place) })
	})
}

// describe returns the record of a cluster that the run started.
func (r *run) describe(ctx context.Context, own *cluster.Cluster, spec *scenario.Trial, id string) (record.Cluster, error) {
	status, err := own.Status(ctx)
	if err != nil {
		return record.Cluster{}, fmt.Errorf("the cluster does not report its state: %w", err)
	}
	about := record.Cluster{
		ID: id, Store: spec.Cluster.Store, Version: status.Version, Started: true,
		Exec: spec.Cluster.Exec, Settings: spec.Cluster.Settings, Env: spec.Cluster.Env, Notes: own.Notes(),
	}
	for _, m := range own.Members() {
		member := record.Member{ID: record.ID(m.ID), Name: m.Name, Endpoint: m.Endpoint, Machine: r.descriptions[m.Host].Machine.Name, Host: r.hostName(m.Host)}
		for i := range status.Members {
			if status.Members[i].Endpoint == m.Endpoint {
				member.ID, member.Version = record.ID(status.Members[i].ID), status.Members[i].Version
			}
		}
		about.Members = append(about.Members, member)
	}
	about.Durability, err = durability(ctx, own)
	return about, err
}

// durability measures fdatasync in the members' data folders, once on each device, and returns the
// slowest result.
func durability(ctx context.Context, own *cluster.Cluster) (*measure.Durability, error) {
	all, err := own.Fsync(ctx, probe.FsyncWrites)
	d := &measure.Durability{Synced: own.Synced()}
	trial.RecordSlowest(d, all)
	return d, err
}

// loopback returns true if all endpoints are loopback addresses. Otherwise it returns nil, meaning
// unknown, because other addresses may also belong to this machine.
func loopback(endpoints []string) *bool {
	all := len(endpoints) > 0
	for _, e := range endpoints {
		hostname, _, err := net.SplitHostPort(e)
		if err != nil {
			return nil
		}
		ip := net.ParseIP(hostname)
		if hostname != "localhost" && (ip == nil || !ip.IsLoopback()) {
			all = false
		}
	}
	if !all {
		return nil
	}
	return &all
}

// dataDir returns the folder in which clusters keep their data, and writes a note about this folder
// for cleanOrphans. If the run created the folder, the run removes it after stopping its last
// cluster.
func (r *run) dataDir() (string, error) {
	dir := r.DataDir
	if dir == "" {
		dir = filepath.Join(r.out.Dir(), "data")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	made, err := host.CreateFolders(dir)
	r.createdFolders = append(r.createdFolders, made...)
	if err != nil {
		return "", err
	}
	noteData(dir, r.createdFolders)
	return dir, nil
}
