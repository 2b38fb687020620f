"""Cases by number, and those that once found something."""

from __future__ import annotations

# What they were: reads and writes outside of arrays when alignments and RNA structures were drawn at random
# from sums that are no numbers; foreign exceptions from sparse matrices, arrays without axes, numbers in the
# place of lists, outputs of mixed kinds; messages of many lines;
# parameters of model files that only `fit` would have looked at, and steps of pipelines that were not there.
KEPT = {
    "models": [
        "5:39",
        "5:54",
        "5:67",
        "6:3094",
        "6:3775",
        "6:4993",
        "1301:16722",
        "1301:17032",
        "1301:25738",
        "1301:27544",
        "1301:28624",
        "1301:32012",
        "1301:50587",
        "1301:52437",
        "1301:55742",
        "1301:72747",
        "1301:87123",
        "1301:91423",
        "1301:139819",
        "1301:165645",
        "1301:178615",
        "1301:193758",
        "1301:219492",
        "1304:17613",
        "1304:25360",
        "1310:20565",
        "1:447",
        "2330:200",
        "2330:5270",
        "2330:5797",
        "2330:10493",
        "2330:11384",
        "7000:18680",
        "7000:35171",
        "19001:82372",
        "19001:365494",
        "19001:624832",
        "811:25590",
        "811:35186",
        "811:77395",
        "902:31348",
        "903:8414",
        "903:32020",
        "904:69297",
        "905:29526",
        "906:62291",
    ],
    "weights": ["1:17", "3:37", "3:196"],
    "inputs": [
        "3:1409",
        "3:1639",
        "4:42",
        "1302:153632",
        "1302:326642",
        "1302:374068",
        "1310:139222",
        "921:292564",
    ],
    "functions": [
        "1:11",
        "1:93",
        "1:38",
        "1:712",
        "1:533",
        "1:434",
        "1:71",
        "1:1682",
        "201:119",
        "201:730",
        "201:1155",
        "201:3597",
    ],
    "calls": [
        "101:28513",
        "1301:50858",
        "1:0",
        "1:1",
        "1:28",
        "1:41",
        "1:58",
        "1:93",
        "2:151",
        "2:163",
        "2:274",
        "2:363",
        "2:488",
    ],
}


def cases_of(given):
    """``"kind:seed:number"`` of every case in ``"kind:seed:number"`` or ``"kind:seed:first:last"``."""
    for text in given:
        kind, seed, first, last = (*text.split(":"), None)[:4]
        for number in range(int(first), int(first) + 1 if last is None else int(last)):
            yield f"{kind}:{seed}:{number}"
