package main

// capabilities are the table's columns.
var capabilities = []string{"post", "own child", "hold", "refuse", "drop", "rename", "evidence", "hooks", "interactive"}

// covers says which capabilities a live test shows. One that is about another
// version than the run's shows none.
var covers = map[string]string{
	"TestAllowChain":                "hooks",
	"TestAmbiguousTarget":           "post",
	"TestBypassingSession":          "own child, hold",
	"TestCheckConnectWritesNothing": "post",
	"TestDeadSession":               "post",
	"TestDoctor":                    "",
	"TestDrift":                     "",
	"TestDuplicate":                 "drop, evidence",
	"TestExpired":                   "hold",
	"TestFortyAtOnce":               "evidence",
	"TestFortyInARow":               "drop, evidence",
	"TestHeld":                      "hold",
	"TestList":                      "post",
	"TestListNamesThePane":          "interactive",
	"TestNoInboxWithoutNetwork":     "",
	"TestPicture":                   "interactive",
	"TestPlugin":                    "hooks",
	"TestPluginIsValid":             "",
	"TestPluginTellsOfAQuestion":    "interactive",
	"TestPolicyDecides":             "refuse",
	"TestPostToolUseHookPostsIntoItsOwnSession": "own child, hooks",
	"TestQueued":                               "post, evidence",
	"TestQueuedWhileBusy":                      "evidence",
	"TestRefused":                              "refuse",
	"TestReleasedBySetting":                    "hold",
	"TestRenameOfHeadlessIsNotConfirmed":       "rename",
	"TestRenameShowsOnScreen":                  "rename, interactive",
	"TestSameTextAtOnce":                       "evidence",
	"TestSendFindsOneOfThree":                  "post",
	"TestSendFromBash":                         "own child",
	"TestSendFromOutside":                      "post, evidence",
	"TestSessionChangedAfterClear":             "interactive",
	"TestSessionStartHookDoesNotWaitForItself": "hold, hooks",
	"TestStopHookLeavesItsOwnSessionAlone":     "hooks",
	"TestStopHookPostsIntoAnotherSession":      "hooks",
	"TestStopHooksDoNotAnswerEachOther":        "hooks",
	"TestTimeToQueued":                         "evidence",
	"TestTimeToTellFive":                       "post",
	"TestUserDecides":                          "hold, interactive",
	"TestWorkerReportsToItsOverseer":           "hooks",
}
