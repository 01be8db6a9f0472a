package verdict

// Judge applies all rules to f.
func Judge(f Figures) Verdict {
	v := Verdict{State: Valid, Reasons: []Reason{}, Notes: []string{}}
	found := map[State][]Reason{}
	v.Effect = f.limitEffect(f.generatorEffect())
	var noted []string
	for _, r := range rules() {
		result := r.judge(&f)
		if r.number != disturbedWorkerRule {
			v.Effect = v.Effect.union(result.effect)
		}
		switch {
		case result.text == "":
			continue
		case result.state == Valid:
			noted = append(noted, r.reason(result.text, nil).String())
			continue
		}
		found[result.state] = append(found[result.state], r.reason(result.text+"; "+r.remedy, result.figures))
		if result.state.Worse(v.State) {
			v.State = result.state
		}
	}
	// A caller that shows only one reason shows the first, so the worst reasons come first.
	v.Reasons = append(append(v.Reasons, found[Invalid]...), found[Suspect]...)
	v.Notes = append(append(v.Notes, notes(&f)...), noted...)
	return v
}

// rule is a numbered rule. Rule n is at index n-1 in the result of the function rules. The texts of
// a rule's reasons and notes start with the rule's name.
type rule struct {
	number int
	name   string
	remedy string // what to do; the texts of the rule's reasons end with it
	judge  func(*Figures) finding
}

// reason returns a reason of this rule. The rule's name precedes the text.
func (r *rule) reason(text string, figures []string) Reason {
	return Reason{Rule: r.number, Text: r.name + ": " + text, Figures: figures}
}

// Rules returns the number of rules.
func Rules() int { return len(rules()) }

// DescribeRule returns the name and the remedy of a rule, for example "member lost" and "read its
// log, then repeat the trial". For a rule that a later version has added, both are empty.
func DescribeRule(number int) (name, remedy string) {
	if number < 1 || number > Rules() {
		return "", ""
	}
	r := rules()[number-1]
	return r.name, r.remedy
}

// MeansOtherLoad reports whether a finding of the given rule means that the load in the window
// was not the requested load. This is true for R19 (the trial was interrupted) and R26 (a worker or
// host was lost).
func MeansOtherLoad(rule int) bool { return rule == 19 || rule == 26 }

// disturbedWorkerRule is the number of the rule whose effect concerns only the figures of one
// worker.
const disturbedWorkerRule = 30

func rules() []rule {
	return []rule{
		{1, "nothing completed", "read the errors, and check the endpoints and the timeout", R1NothingCompleted},
		{2, "counts differ", "report this defect of quorumbench", R2CountsDiffer},
		{3, "wrong responses", "verify the responses, and report the violation to the store's developers", R3WrongResponses},
		{4, "Little's law", "report this defect of quorumbench", R4LittlesLaw},
		{5, "generator paused", "look for a stopped process or VM, or a low priority", R5GeneratorPaused},
		{6, "generator throttled", "raise the quota", R6GeneratorThrottled},
		{7, "generator starved", "run the generator on another machine or on reserved CPUs", R7GeneratorStarved},
		{8, "generator late", "repeat the trial, or use another machine", R8GeneratorLate},
		{9, "generator saturated", "add workers, or lower the load", R9GeneratorSaturated},
		{10, "CPU steal", "use dedicated CPUs, or compare with a baseline in the same run", R10CPUSteal},
		{11, "errors", "fix the cause of the errors, or lower the rate", R11Errors},
		{12, "too few samples", "use a longer window", R12TooFewSamples},
		{13, "member lost", "read the lost member's log, then repeat the trial", R13MemberLost},
		{14, "leader change", "read the members' logs, then repeat the trial", R14LeaderChange},
		{15, "stall at the start", "use a longer warm-up", R15StallAtStart},
		{16, "client limit", "raise max-in-flight or connections", R16ClientLimit},
		{17, "not durable", "keep the members' data on a disk, or set allow-volatile", R17NotDurable},
		{18, "missing keys", "check the prefix and the key space", R18MissingKeys},
		{19, "interrupted", "repeat the trial, or use run --resume", R19Interrupted},
		{20, "impossible watch events", "keep other clients away from the prefix", R20ImpossibleEvents},
		{21, "faulty watch events", "repeat the load with --verify, which names the violated guarantee", R21FaultyEvents},
		{22, "members disagree", "stop using the data, and report the difference to the store's developers", R22MembersDisagree},
		{23, "other programs", "stop the other programs, or use another machine", R23OtherPrograms},
		{24, "unknown members", "check the servers at the endpoints", R24UnknownMembers},
		{25, "unsteady throughput", "use a longer warm-up or window", R25Unsteady},
		{26, "worker or host lost", "check the lost machine, then repeat the trial", R26WorkerLost},
		{27, "uneven start", "use a longer window", R27UnevenStart},
		{28, "slow worker", "check the named worker's machine and network", R28SlowWorker},
		{29, "worker with other times", "check the named worker's machine and network", R29WorkerApart},
		{30, "disturbed worker", "see R5 to R9", R30DisturbedWorker},
		{31, "fault failed", "read the events, and leave more time between faults", R31FaultFailed},
		{32, "uncertain clock", "synchronize the clocks", R32UncertainClock},
		{33, "consistency", "see Verification in the report", R33Consistency},
	}
}
