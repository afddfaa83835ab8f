"""Small files of each format, by the reader that they are for: file name and text."""

CURVE = "time_ms,value\n0,1\n2.5,4\n3,\n"
SERIES = "time_s,user,system\n0,1,\n1,2,5\n3,2,0.25\n"
TRACE = "start_us,end_us,location,state\n0,2,cpu0,run\n2,5.125,cpu0,wait\n1,4,cpu1,run\n"
MEASUREMENTS = 'code,machine,procs,time_s,remark\nlu,T3D,1,8.25,\nlu,T3D,2,,late\n"c, g",SP2,4,1e-3,\n'

PJ_DUMP = """\
Container, 0, machine, 0.0, 2.0, 2.0, cpu0
State, cpu0, STATE, 0.000000, 1.500000, 1.500000, 0.000000, running
State, cpu0, STATE, 1.500000, 2.000000, 0.500000, 0.000000, waiting
State, cpu1, STATE, 0.000000, 2.000000, 2.000000, 0.000000, running
State, cpu1, STATE, 0.500000, 0.750000, 0.250000, 1.000000, sending
"""
STARVZ = """\
Nature, ResourceId, Type, Start, End, Duration, Depth, Value, JobId
State, CPU0, Worker State, 95.646746, 95.764745, 0.117999, 0.000000, Initializing
State, CPU0, Worker State, 95.764745, 96.764745, 1.000000, 0.000000, dgemm, 17
"""

PAJE = """\
%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 2
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeSetState 3
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePushState 4
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 5
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeDestroyContainer 6
% Time date
% Type string
% Name string
%EndEventDef
0 T 0 "thread"
1 S T "state"
2 0.0 a T 0 "first thread"
2 0.0 b T 0 "second thread"
3 0.0 S a "running"
3 0.5 S b "running"
4 1.0 S a "waiting"
5 1.5 S a
6 2.0 T a
6 2.5 T b
"""

PARAVER = """\
#Paraver (26/01/04 at 16:35):2000:2(1,1):1:2(1:1,1:2)
1:1:1:1:1:0:1500:1
2:1:1:1:1:100:42000050:7
1:2:1:2:1:0:500:1
1:2:1:2:1:500:2000:3
1:1:1:1:1:1500:2000:0
"""

PICL_NEW = """\
-3 -901 0.00000 0 0 0
-3 -901 0.00000 1 1 0
-3 -21 0.00100 0 0 4 2 32768 1 1 1
-4 -21 0.00200 0 0 0
-3 -52 0.00100 1 1 3 2 1 0 0
-4 -52 0.00250 1 1 4 2 32768 1 0 0
-4 -901 0.00300 1 1 0
-4 -901 0.00400 0 0 0
"""
PICL_OLD = """\
1 0 0 0 0
1 0 5 1 0
7 0 100 0 5
4 0 200 1 0 5 8
8 0 300 0 5 8 1
19 0 900 1
19 0 950 0
"""

SAMPLES = {
    "csv": [
        ("curve.csv", CURVE),
        ("series.tsv", SERIES.replace(",", "\t")),
        ("t.csv", TRACE),
        ("runs.csv", MEASUREMENTS),
    ],
    "pj_dump": [("dump.csv", PJ_DUMP), ("starvz.csv", STARVZ)],
    "paje": [("states.trace", PAJE)],
    "paraver": [("run.prv", PARAVER)],
    "picl": [("new.trf", PICL_NEW), ("old.trf", PICL_OLD)],
}
