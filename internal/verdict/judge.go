package verdict

import "fmt"

// Judge applies every rule to f.
func Judge(f Figures) Verdict {
	v := Verdict{State: Valid, Reasons: []Reason{}, Notes: []string{}}
	found := map[State][]Reason{}
	v.Effect = f.within(f.added())
	var noted []string
	for _, r := range rules() {
		one := r.judge(&f)
		if r.number != ofOneWorker {
			v.Effect = v.Effect.or(one.effect)
		}
		switch {
		case one.text == "":
			continue
		case one.state == Valid:
			noted = append(noted, one.text+fmt.Sprintf(" (R%d)", r.number))
			continue
		}
		found[one.state] = append(found[one.state], Reason{Rule: r.number, Text: one.text, Figures: one.about})
		if one.state.Worse(v.State) {
			v.State = one.state
		}
	}
	// A caller that shows one reason shows the first.
	v.Reasons = append(append(v.Reasons, found[Invalid]...), found[Suspect]...)
	v.Notes = append(append(v.Notes, notes(&f)...), noted...)
	return v
}

// rule is one question.
type rule struct {
	number int
	judge  func(*Figures) finding
}

// OfAnotherLoad reports whether what a rule finds makes a window's load another than
// the one that was asked for: it was interrupted, or a worker was lost.
func OfAnotherLoad(rule int) bool { return rule == 19 || rule == 26 }

// ofOneWorker is the rule whose effect is on one worker's figures and not on all.
const ofOneWorker = 30

func rules() []rule {
	return []rule{
		{1, R1NothingCompleted}, {2, R2BooksDoNotBalance}, {3, R3WrongAnswers}, {4, R4LittlesLaw},
		{5, R5Stopped}, {6, R6Throttled}, {7, R7WaitedForProcessor}, {8, R8SentLate}, {9, R9GeneratorBusy}, {10, R10Stolen},
		{11, R11ErrorShare}, {12, R12TooFewSamples}, {13, R13MemberLost}, {14, R14LeaderChanged},
		{15, R15CarriedIn}, {16, R16InFlightLimit}, {17, R17NotDurable}, {18, R18Misses}, {19, R19Interrupted},
		{20, R20EventsImpossible}, {21, R21EventsFaulty}, {22, R22MembersDisagree}, {23, R23ForeignPrograms},
		{24, R24InventedMembers}, {25, R25Unsteady},
		{26, R26WorkerLost}, {27, R27WorkerBeganLate}, {28, R28WorkerSlow}, {29, R29WorkerApart}, {30, R30WorkerDisturbed},
		{31, R31FaultFailed},
		{32, R32Clocks},
		{33, R33ViolatedPromises},
	}
}
