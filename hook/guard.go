package hook

// Guard says whether this event must not become a message, and why, in one line
// that says what to do about it. own: the message would go to the session that
// the event comes from, and nobody asked for that with --allow-self.
//
// A message starts a turn (golden/PROTOCOL.md, "What becomes of it"), so an
// event that a turn fires would go round for ever; stop_hook_active says that it
// is going round already.
func (e Event) Guard(own bool) (reason string, skip bool) {
	const remedy = "; post to another session with --to, or lift this guard with --allow-self"
	if e.Name == "WorktreeCreate" {
		return "a WorktreeCreate hook replaces git's own way of making the worktree: remove it from the settings", true
	}
	if !own {
		return "", false
	}
	if r := e.rule(); r.loop != "" && (r.only == "" || r.only == e.NotificationType) {
		return e.Name + " to its own session: " + r.loop + remedy, true
	}
	if e.StopHookActive {
		return "stop_hook_active to its own session: a Stop hook has made this turn go on already" + remedy, true
	}
	return "", false
}
