package main

import "strings"

// A row is a promise with the commands that prove it.
type row struct {
	number  int
	promise string
	short   []string // commands of make reliability
	long    []string // commands of make reliability-long; nil: the short ones
}

// commands returns the commands of a row. "test PACKAGE TESTS" stands for go test.
func (r row) commands(long bool) (out []string) {
	list := r.short
	if long && r.long != nil {
		list = r.long
	}
	for _, c := range list {
		env, test, isTest := strings.Cut(c, "test ")
		if f := strings.Fields(test); isTest && len(f) >= 2 && !strings.Contains(env, "go ") {
			c = env + "go test -count=1 -v -timeout 180m -run '^(" + f[1] + ")$' ./" + f[0] + " " + strings.Join(f[2:], " ")
		}
		out = append(out, strings.TrimSpace(c))
	}
	return out
}

// rows is the scoreboard. internal/reliability/README.md has the figures.
var rows = []row{
	{1, "what was acknowledged survives kill -9",
		[]string{"SEARCHD_STORE_KILLS=40 test store TestKill", "test index/keyword TestKilledWriter", "test internal/e2e TestKillDuringIngest"},
		[]string{"SEARCHD_STORE_KILLS=200 test store TestKill", "E2E_FULL=1 test internal/e2e TestKillDuringIngest"}},
	{2, "a crash between any two steps loses nothing",
		[]string{"RELIABILITY_STATES=0 RELIABILITY_KILLS=20 test internal/reliability TestCrashPoints|TestKilledAtCall", "test search TestReembedKilled"},
		[]string{"RELIABILITY_STATES=0 RELIABILITY_KILLS=200 test internal/reliability TestCrashPoints|TestKilledAtCall",
			"RELIABILITY_STATES=0 RELIABILITY_SEED=1 test internal/reliability TestCrashPoints", "RELIABILITY_STATES=0 RELIABILITY_SEED=2 test internal/reliability TestCrashPoints",
			"test search TestReembedKilled"}},
	{3, "store, graph and keyword index agree",
		[]string{"test search/embedded TestCheck.*|TestNoHoles.*|TestSlotTable|TestGhosts", "test store TestCheckFindsLooseEnds|TestBrokenPages|TestLostPage"}, nil},
	{4, "a power cut loses nothing acknowledged",
		[]string{"RELIABILITY_STATES=1000 test internal/reliability TestPowerCut", "RELIABILITY_STATES=50 test internal/reliability TestCutAgain", "test store TestUnfinishedCreation|TestAcceptRollback"},
		[]string{"RELIABILITY_STATES=10000 test internal/reliability TestPowerCut", "RELIABILITY_STATES=500 test internal/reliability TestCutAgain", "test store TestUnfinishedCreation|TestAcceptRollback"}},
	{5, "opening is quick, and a long rebuild serves meanwhile",
		[]string{"LONG_TESTS=1 test search/embedded TestLongReplay|TestRebuildWhileServing|TestOpeningIsTold|TestCompleteOpening"}, nil},
	{6, "after a failed read, write or flush nothing false is acknowledged",
		[]string{"RELIABILITY_FAULTS=200 test internal/reliability TestFailingDisk|TestServerOnBrokenDisk|TestDataFolderMoved", "test store TestFailedCommit|TestCompactUnreadable|TestReadErrorIsNotDamage|TestMovedWhileOpen", "test api TestReadOnlyIsTold", "test index/keyword TestBrokenDisk|TestCleanupErrorsDoNotBreak"},
		[]string{"RELIABILITY_FAULTS=2000 test internal/reliability TestFailingDisk|TestServerOnBrokenDisk|TestDataFolderMoved"}},
	{7, "a full disk refuses writes, serves reads, and recovers",
		[]string{"test internal/reliability TestFullDisk", "test store TestDiskFull", "test search/embedded TestOpensWithoutRoom|TestNoRoomForAnIndex|TestUpdateKeepsTheName|TestCreateWithoutRoom|TestServesWithoutRoomForAnIndex|TestClosesWithoutRoom",
			"test index/hnsw TestSnapshotOnAFullDisk|TestWriteSnapshotFails"}, nil},
	{8, "a flipped bit or a cut file is found, never answered from",
		[]string{"test store TestBitFlips|TestTruncation|TestTruncatedWhileOpen|TestDamaged.*", "test index/hnsw TestSnapshot.*", "test index/keyword TestFlippedBits|TestDamagedFolder|TestTruncated.*"},
		[]string{"SEARCHD_STORE_FLIPS=1000 test store TestBitFlips|TestTruncation|TestTruncatedWhileOpen|TestDamaged.*", "test index/hnsw TestSnapshot.*",
			"LONG_TESTS=1 test index/keyword TestFlippedBits|TestDamagedFolder|TestTruncated.*"}},
	{9, "one process has a data folder", []string{"test store TestLockNamesHolder|TestSecondProcess", "test cmd/searchd TestServeWhereTheAddressIsTaken"}, nil},
	{10, "a backup restores what it held, and a hostile one is refused",
		[]string{"test store TestBackup.*|TestRestore.*|TestVerify.*", "test cmd/searchd TestInterruptedBackup|TestBackupOf.*|TestSnapshotsCommand", "test api TestSnapshotRoutes"}, nil},
	{11, "folders of earlier formats open, later ones are refused",
		[]string{"RELIABILITY_OLD=20 test internal/reliability TestOldFolders", "test store TestOldFormats|TestFormatRises|TestOpenRefuses", "test index/hnsw TestSnapshotThatDoesNotFit", "test index/keyword TestOpenRefusesOlderAnalysis|TestOldAnalysis|TestNamesOfOldIndex|TestStatisticsOfBefore"}, nil},
	{12, "the store and the graph do what a map and a scan do",
		[]string{"test store TestModel -rapid.checks=200 -rapid.seed=$RELIABILITY_SEED", "test index/hnsw TestAgainstModel", "test index/keyword TestSearchEqualsOracle"},
		[]string{"test store TestModel -rapid.checks=2000 -rapid.seed=$RELIABILITY_SEED", "LONG_TESTS=1 test index/hnsw TestAgainstModel", "test index/keyword TestSearchEqualsOracle"}},
	{13, "each document is a register, also while the server is killed",
		[]string{"HISTORY_OPERATIONS=4000 HISTORY_SEED=$RELIABILITY_SEED test internal/e2e TestHistory"},
		[]string{"HISTORY_OPERATIONS=100000 HISTORY_SEED=$RELIABILITY_SEED test internal/e2e TestHistory"}},
	{14, "no bytes make a parser panic, hang or take memory without bound", []string{"make fuzz FUZZTIME=2000x"}, []string{"make fuzz FUZZTIME=100000x FUZZ_ALL=1"}},
	{15, "no data race", []string{"make race"}, nil},
	{16, "every hostile request has its answer",
		[]string{"test api TestBad.*|TestMediaTypes|TestCompressedBodies|TestBombs.*|TestChunkedBodyOverTheLimit|TestWrongMembers|TestManyElements|TestTrailingSlash|TestServeCutsOff.*|TestTooManyTokens|TestRapidReset"}, nil},
	{17, "no query takes more than its share",
		[]string{"test index/keyword TestQueryLimits|TestSynonymsOfLongQueries|TestStatisticsLongQuery|TestFilterStopsWithContext", "test search TestManyOpenQuotes|TestQueryRefuses|TestRespelledIsBounded", "test search/inference TestCheckRequest"}, nil},
	{18, "overload is refused soon, and what is accepted is answered",
		[]string{"RELIABILITY_SECONDS=20 test internal/reliability TestOverload", "test api TestOverloadIsRefusedSoonAndHealthIsNot|TestSearchersBesideAnImport|TestTooMany.*|TestRateOfManyAtOnce|TestAnswersInMemoryAreBounded|TestVectorsInMemoryAreBounded|TestBodiesInMemoryAreBounded"},
		[]string{"RELIABILITY_SECONDS=120 test internal/reliability TestOverload"}},
	{19, "slow clients slow nobody else",
		[]string{"RELIABILITY_SECONDS=10 test internal/reliability TestSlowSenders", "test api TestSlow.*|TestStalled.*|TestTrickling.*|TestStreamsAreBounded|TestUnreadStreamsAreBounded|TestSilentConnectionsGiveWay|TestIdleConnectionsGiveWay|TestBusyConnectionsStay", "test internal/connlimit .*"}, nil},
	{20, "a request that ends early stops its work, and stopping drops nothing",
		[]string{"RELIABILITY_DRAINS=15 test internal/reliability TestDrains", "test api TestClientThatGoesAwayEndsTheSearch|TestServeStopsGracefully|TestDrainGrace|TestRestIsBounded|TestAnswersReachWhoSendsAllFirst", "test internal/e2e TestServeCommand"},
		[]string{"RELIABILITY_DRAINS=50 test internal/reliability TestDrains"}},
	{21, "creating, filling, searching and dropping leaves nothing behind",
		[]string{"RELIABILITY_SECONDS=60 test internal/reliability TestLeaks", "test search TestNothingIsKeptOfWhatIsGone"},
		[]string{"RELIABILITY_SECONDS=7200 test internal/reliability TestLeaks"}},
	{22, "every route asks for its key, scope and collection",
		[]string{"test internal/reliability TestForeignPages", "test api TestAuthorisationMatrix|TestErrorsOfKeys.*|TestWhereTheTokenIsRead|TestKeys.*|TestCollectionsThatAKeyMaySee|TestMCPKeys|TestHostIsCheckedOnLoopback|TestCrossOriginRequestsAreRefused|TestCORS.*|TestReembedWithAKeyForFew|TestTLS",
			"test access .*", "test cmd/searchd TestServeRefusesBeforeOpening"}, nil},
	{23, "no request of ours leads inside, and no wrong file is kept", []string{"test models TestGuard|TestRedirectInside|TestDialInside|TestHubURL|TestAllow|TestPull.*|TestReplaceInterrupted"}, nil},
	{24, "keys and texts stay out of logs, metrics, errors and backups",
		[]string{"test internal/reliability TestSecrets", "test api TestQueriesAreNotLogged|TestPanicsAndInternalErrorsAreHidden|TestLogNamesTheKey", "test access TestKeyLivesInTheVault", "test models TestToken", "test cmd/searchd TestConfigShowsSecrets"}, nil},
	{25, "modules are those of go.sum, without known vulnerabilities", []string{"go mod verify", "internal/reliability/vulnerabilities.sh"}, nil},
}
