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

MPSTAT = """\
{"sysstat": {
  "hosts": [
    {
      "nodename": "node7", "sysname": "Linux", "number-of-cpus": 2, "date": "11/21/26",
      "statistics": [
        {"timestamp": "23:59:59", "cpu-load": [
          {"cpu": "all", "usr": 50.00, "nice": 0.00, "sys": 5.00, "iowait": 20.00, "steal": 5.00, "idle": 20.00},
          {"cpu": "0", "usr": 90.00, "nice": 0.00, "sys": 10.00, "iowait": 0.00, "steal": 0.00, "idle": 0.00}]},
        {"timestamp": "00:00:00", "cpu-load": [
          {"cpu": "all", "usr": 0.00, "nice": 25.00, "sys": 0.00, "iowait": 0.00, "steal": 0.00, "idle": 75.00},
          {"cpu": "1", "usr": 0.00, "nice": 0.00, "sys": 0.00, "iowait": 0.00, "steal": 0.00, "idle": 0.00}]}
      ]
    }
  ]
}}
"""
SADF_JSON = """\
{"sysstat": {
  "hosts": [
    {"nodename": "node7", "file-date": "2019-04-18", "timezone": "GMT", "statistics": [
      {"timestamp": {"date": "2019-04-18", "time": "13:20:19", "tz": "UTC", "interval": 10},
       "cpu-load": [{"cpu": "all", "usr": 2.0, "sys": 1.5, "iowait": 0.5, "steal": 0.0, "idle": 96.0}],
       "memory": {"memfree": 7}},
      {"timestamp": {"date": "2019-04-18", "time": "13:20:29", "tz": "UTC", "interval": 10},
       "cpu-load": [{"cpu": "all", "usr": 30.0, "sys": 20.0, "iowait": 0.0, "steal": 0.0, "idle": 50.0}]}
    ], "restarts": []}
  ]
}}
"""
SADF_TABLE = """\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
node7;10;2019-04-18 13:20:19 UTC;-1;2.00;0.00;1.50;0.50;0.00;96.00
node7;10;2019-04-18 13:20:29 UTC;-1;30.00;0.00;20.00;0.00;0.00;50.00
# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s
node7;10;2019-04-18 13:20:19 UTC;eth0;1.00;2.00
node7;-1;2019-04-18 13:37:29 UTC;LINUX-RESTART\t(2 CPU)
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
node7;10;2019-04-18 13:54:35 UTC;-1;0.00;0.00;0.00;0.00;0.00;100.00
"""
PROMETHEUS = """\
{"status": "success", "data": {"resultType": "matrix", "result": [
  {"metric": {"__name__": "node_load1", "instance": "a:9100", "job": "node"},
   "values": [[1435781430.5, "0.25"], [1435781445.5, "NaN"], [1435781460.5, "1e1"]]},
  {"metric": {"__name__": "node_load1", "instance": "b:9100", "job": "node"},
   "values": [[1435781445.5, "+Inf"], [1435781460.5, "3"]]}
]}}
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
    "mpstat": [("cpu.json", MPSTAT)],
    "sadf": [("cpu.json", SADF_JSON), ("cpu.csv", SADF_TABLE)],
    "prometheus": [("load.json", PROMETHEUS)],
}
