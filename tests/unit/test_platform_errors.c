/* test_platform_errors.c -- one clear error for each mistake: status, place, and what is allowed. */
#include "tests/unit/platform_case.h"

typedef struct mistake {
  const char *json;
  const char *says[3]; /* all of these are in the message */
} mistake;

#define NET "'network': {'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us'}"
#define OF(network) "{'nodes': 4, 'network': {" network "}}"
#define STAR_WITH(more) OF("'topology': 'star', 'bandwidth': '1Gbps', " more)
#define FABRIC(fabric) "{'nodes': 1, 'accelerators_per_node': 4, 'fabric': {" fabric "}}"
#define WITH(more) "{'nodes': 4, " NET ", " more "}"
#define INTERFACES(text)                                                                           \
  "{'nodes': 2, 'accelerators_per_node': 4, " NET ", 'fabric': {'kind': 'full-mesh',"              \
  "'bandwidth': '1GB/s'}, 'interfaces': {" text "}}"

static const mistake top_level[] = {
    {"[1, 2]", {"case.json", "(top level)"}},
    {"{'nodes': 0, " NET "}", {"case.json: nodes", "0"}},
    {"{'nodes': -3, " NET "}", {"nodes", "-3"}},
    {"{'nodes': 2.5, " NET "}", {"nodes", "2.5"}},
    {"{'nodes': 100001, " NET "}", {"nodes", "100000"}},
    {"{" NET "}", {"nodes"}},
    {"{'nodes': 4, 'acelerators_per_node': 2, " NET "}",
     {"acelerators_per_node", "did you mean \"accelerators_per_node\"?"}},
    {WITH("'accelerators_per_node': 17"), {"accelerators_per_node", "17", "16"}},
    {WITH("'accelerators_per_node': 8"), {"fabric: absent", "8 accelerators", "'kind': 'switch'"}},
    {"{'nodes': 4}", {"network: absent", "4 nodes", "'topology': 'star'"}},
    {WITH("'schema': 'longhaul/device/1'"), {"schema", "platform"}},
    {WITH("'device': 'a100'"), {"device", "'a100'", "a100-80gb"}},
    {WITH("'device': {'base': 'a100-80gb', 'memory': 80}"), {"memory", "80", "size"}},
    {WITH("'device': {'base': 'none'}"), {"device.base", "'none'", "h100-sxm"}},
    {WITH("'device': {'base': 'l4', 'powr': '4W'}"), {"powr", "did you mean \"power\"?"}},
    {WITH("'name': 7"), {"name", "7"}},
    {"{'file': 'nowhere'}", {"file", "'nowhere'", "four-regions"}},
    {"{'file': 3}", {"file", "3"}},
    {"{'file': 'star', 'nodes': 0}", {"star.json + overrides: nodes", "0"}},
    {"{'file': 'star', 'network': {'bandwidth': '1G'}}", {"network.bandwidth", "'1G'", "10Gbps"}},
    {"{'file': 'star', 'network': {'topology': 'fat-tree'}}", {"arity"}},
};

static const mistake networks[] = {
    {OF("'topology': 'star', 'latency': '1us'"), {"network.bandwidth", "a rate such as"}},
    {OF("'topology': 'star', 'bandwidth': '10GBPS'"), {"network.bandwidth", "'10GBPS'", "Gbps"}},
    {OF("'topology': 'star', 'bandwidth': 1e9"), {"network.bandwidth", "a rate such as"}},
    {OF("'topology': 'star', 'bandwidth': '0Gbps'"),
     {"network.bandwidth", "'0Gbps'", "above zero"}},
    {OF("'topology': 'star', 'bandwidth': '-1Gbps'"), {"network.bandwidth", "-1Gbps"}},
    {OF("'topology': 'star', 'bandwidth': '5us'"), {"network.bandwidth", "'5us'", "rate"}},
    {OF("'bandwidth': '1Gbps'"), {"network.topology", "star", "dragonfly"}},
    {OF("'topology': 'sta', 'bandwidth': '1Gbps'"), {"network.topology", "'sta'", "'star'?"}},
    {OF("'topology': 7"), {"network.topology", "7"}},
    {STAR_WITH("'latency': 50"), {"network.latency", "50", "a time such as"}},
    {STAR_WITH("'latency': '-5us'"), {"network.latency", "-5us"}},
    {STAR_WITH("'latensy': '5us'"), {"latensy", "did you mean \"latency\"?"}},
    {STAR_WITH("'dims': [2, 2]"), {"dims"}},
    {STAR_WITH("'duplex': 'both'"), {"network.duplex", "'both'", "half"}},
    {STAR_WITH("'duplex': 'half', 'bandwidth_up': '1Mbps'"), {"network.duplex", "bandwidth_up"}},
    {STAR_WITH("'flow_cap': '0Mbps'"), {"network.flow_cap", "above zero"}},
    {STAR_WITH("'call_overhead': '3Mbps'"), {"network.call_overhead", "a time"}},
    {STAR_WITH("'in_network_reduction': 1"), {"network.in_network_reduction", "1"}},
    {STAR_WITH("'backbone_latency': '1us'"), {"backbone_latency", "backbone_bandwidth"}},
    {OF("'topology': 'star', 'bandwidth_up': '1Gbps'"), {"network.bandwidth", "a rate"}},
    {OF("'topology': 'ring', 'bandwidth': '1Gbps', 'bandwidth_up': '1Gbps'"), {"bandwidth_up"}},
    {"{'nodes': 4, 'network': 'star'}", {"network", "'star'", "object"}},
    {"{'nodes': 3000, 'network': {'topology': 'full-mesh', 'bandwidth': '1Gbps'}}",
     {"3000 nodes", "2000000"}},
    {"{'nodes': 600, 'network': {'topology': 'ring', 'bandwidth': '1Gbps'}}",
     {"600", "300", "262"}},
    {OF("'topology': 'torus', 'bandwidth': '1Gbps'"), {"network.dims"}},
    {OF("'topology': 'torus', 'bandwidth': '1Gbps', 'dims': [2, 3]"), {"network.dims", "4 in all"}},
    {OF("'topology': 'torus', 'bandwidth': '1Gbps', 'dims': [2, 0]"), {"network.dims[1]", "0"}},
    {OF("'topology': 'torus', 'bandwidth': '1Gbps', 'dims': []"), {"network.dims", "1 to 6"}},
    {OF("'topology': 'torus', 'bandwidth': '1Gbps', 'dims': [4], 'dimensions': 1"),
     {"network.dimensions", "one of the two"}},
    {OF("'topology': 'torus', 'bandwidth': '1Gbps', 'dimensions': 7"), {"dimensions", "7", "6"}},
};

static const mistake trees[] = {
#define TREE(more) OF("'topology': 'fat-tree', 'bandwidth': '1Gbps', " more)
#define FLY(more) OF("'topology': 'dragonfly', 'bandwidth': '1Gbps', " more)
    {TREE("'latency': '1us'"), {"network.arity"}},
    {TREE("'arity': 1"), {"network.arity", "1", "2"}},
    {TREE("'arity': [2, 0]"), {"network.arity[1]", "0"}},
    {TREE("'arity': 3, 'levels': 1"), {"network.arity", "3 ports", "4"}},
    {TREE("'arity': [3]"), {"3 ports", "at least 4"}},
    {TREE("'arity': [2, 2], 'levels': 3"), {"network.arity", "list of 2", "3"}},
    {TREE("'arity': 2, 'uplinks': [1, 1, 1]"), {"network.uplinks", "list of 3"}},
    {TREE("'arity': 2, 'oversubscription': 0"), {"network.oversubscription", "0", "above zero"}},
    {TREE("'arity': 2, 'oversubscription': [1, 1]"), {"network.oversubscription", "list of 2"}},
    {TREE("'k': 3"), {"network.k", "3", "even"}},
    {TREE("'k': 2"), {"network.k", "2 ports", "at least 4"}},
    {TREE("'k': 4, 'arity': 2"), {"network.arity", "k"}},
    {TREE("'arity': 4, 'rails': true"), {"network.rails", "several interfaces"}},
    {TREE("'arity': 4096, 'levels': 3"), {"cables", "4000000"}},
    {FLY("'groups': 2"), {"network.routers"}},
    {FLY("'groups': 1, 'routers': 3, 'terminals': 1"), {"network.groups", "3 ports", "at least 4"}},
    {FLY("'groups': 2, 'routers': 2, 'terminals': 0"), {"network.terminals", "0"}},
    {FLY("'bandwidth_up': '2Gbps'"), {"local_bandwidth", "absent"}},
    {FLY("'global_bandwidth': '0Gbps'"), {"global_bandwidth", "above zero"}},
    {FLY("'groups': 4000, 'routers': 100, 'terminals': 1"), {"dragonfly", "4000000"}},
};

static const mistake regions[] = {
#define REGIONS(more) OF("'topology': 'regions', " more)
#define AB "'regions': ['a', 'b'], 'bandwidth': '1Gbps'"
#define CROSS "'from': 'a', 'to': 'b', 'bandwidth': '1Mbps'"
    {REGIONS("'bandwidth': '1Gbps'"), {"network.regions"}},
    {REGIONS("'regions': [], 'bandwidth': '1Gbps'"), {"network.regions", "1 to 128"}},
    {REGIONS("'regions': ['a', 'a'], 'bandwidth': '1Gbps'"), {"network.regions[1]", "'a'"}},
    {REGIONS("'regions': ['a', 5], 'bandwidth': '1Gbps'"), {"network.regions[1]", "5"}},
    {REGIONS("'regions': ['a', 'b', 'c', 'd', 'e']"), {"5 regions for 4 nodes"}},
    {REGIONS("'regions': [{'name': 'a', 'nodes': 3}], 'bandwidth': '1Gbps'"),
     {"3 nodes in all regions", "4"}},
    {REGIONS("'regions': [{'name': 'a', 'nodes': 4}, 'b'], 'bandwidth': '1Gbps'"),
     {"1 of 2 regions"}},
    {REGIONS("'regions': [{'name': 'a', 'node': 4}], 'bandwidth': '1Gbps'"),
     {"network.regions[0]", "node"}},
    {REGIONS("'regions': ['a', 'b'], 'between_bandwidth': '1Mbps', 'between_latency': '1ms'"),
     {"network.regions[0]", "no bandwidth", "region a"}},
    {REGIONS("'regions': ['a', 'b'], 'latency': '1ms'"), {"network.latency", "bandwidth"}},
    {REGIONS(AB), {"network.between", "from region a to b"}},
    {REGIONS(AB ", 'between': [{" CROSS "}]"), {"between[0].latency"}},
    {REGIONS(AB ", 'between': [{" CROSS ", 'latency': '1ms', 'round_trip': '2ms'}]"),
     {"between[0].round_trip", "one of the two"}},
    {REGIONS(AB ", 'between': [{" CROSS ", 'latency': '1ms'}, {" CROSS ", 'latency': '1ms'}]"),
     {"between[1]", "from a to b again"}},
    {REGIONS(AB ", 'between': [{" CROSS ", 'latency': '1ms', 'one_way': true}]"),
     {"from region b to a"}},
    {REGIONS(AB ", 'between': [{" CROSS ", 'latency': '1ms', 'one_way': true,"
                "'bandwidth_back': '1Mbps'}]"),
     {"bandwidth_back", "one_way"}},
    {REGIONS(AB ", 'between': [{'from': 'a', 'to': 'c', 'bandwidth': '1Mbps', 'latency': '1ms'}]"),
     {"between[0].to", "'c'", "'a', 'b'"}},
    {REGIONS(AB ", 'between': [{'from': 'a', 'to': 'a', 'bandwidth': '1Mbps', 'latency': '1ms'}]"),
     {"between[0]", "itself"}},
    {REGIONS(AB ", 'between_latency': '1ms'"), {"network.between_bandwidth", "absent"}},
    {REGIONS(AB ", 'between_bandwidth': '1Mbps'"), {"network.between_latency"}},
};

static const mistake custom[] = {
#define CUSTOM(more) OF("'topology': 'custom', 'bandwidth': '1Gbps', " more)
#define ROW "{'from': 0, 'to': 1}, {'from': 1, 'to': 2}, {'from': 2, 'to': 3}"
    {CUSTOM("'latency': '1us'"), {"network.links"}},
    {CUSTOM("'links': []"), {"network.links", "node 0", "node 1 (rank 1)"}},
    {CUSTOM("'links': [{'from': 0, 'to': 's'}, {'from': 1, 'to': 's'}]"),
     {"no way from node 0 to node 2 (rank 2), node 3 (rank 3)", "between every two nodes"}},
    {"{'nodes': 3, 'accelerators_per_node': 2, 'fabric': {'kind': 'full-mesh', 'bandwidth': "
     "'1GB/s'},"
     "'placement': 'round-robin', 'network': {'topology': 'custom', 'bandwidth': '1Gbps', 'links': "
     "["
     "{'from': 0, 'to': 1}]}}",
     {"node 2 (rank 2, 5)"}},
    {CUSTOM("'links': [" ROW ", {'from': 3, 'to': 4}]"), {"links[3].to", "4"}},
    {CUSTOM("'links': [" ROW ", {'from': 3, 'to': 3}]"), {"links[3].to", "itself"}},
    {CUSTOM("'links': [" ROW ", {'from': 3}]"), {"links[3].to"}},
    {CUSTOM("'links': [" ROW ", {'latency': '1us'}]"), {"links[3].name"}},
    {CUSTOM("'links': [" ROW ", {'from': 0, 'to': 1}]"), {"links[3]", "node-0-node-1.forth"}},
    {CUSTOM("'links': [" ROW ", {'from': 0, 'to': 3, 'bandwith': '1Gbps'}]"),
     {"links[3]", "bandwith", "did you mean \"bandwidth\"?"}},
    {CUSTOM("'links': [" ROW ", {'from': 0, 'to': 3, 'one_way': true, 'bandwidth_back': '1Gbps'}]"),
     {"links[3].bandwidth_back", "one way"}},
    {OF("'topology': 'custom', 'links': [" ROW "]"), {"links[0].bandwidth", "a rate"}},
    {CUSTOM("'links': [{'from': 0, 'to': 1, 'one_way': true}, {'from': 1, 'to': 2}, {'from': 2, "
            "'to': 3}]"),
     {"from node 1 to node 0 (rank 0)"}},
    {CUSTOM("'links': [" ROW "], 'routes': [{'from': 0, 'to': 1, 'links': ['x']}]"),
     {"routes[0].links[0]", "'x'"}},
    {CUSTOM("'links': [" ROW "], 'routes': [{'from': 0, 'to': 1, 'links': []}]"),
     {"routes[0].links"}},
    {CUSTOM("'links': [" ROW
            "], 'routes': [{'from': 0, 'to': 0, 'links': ['node-0-node-1.forth']}]"),
     {"routes[0]", "itself"}},
    {CUSTOM("'links': [" ROW "], 'routes': [{'from': 0, 'to': 1, 'links': ['node-0-node-1.forth']},"
            "{'from': 0, 'to': 1, 'links': ['node-0-node-1.forth']}]"),
     {"routes[1]", "second route"}},
    {"{'nodes': 2, 'interfaces': {'count': 2}, 'network': {'topology': 'custom', 'bandwidth': "
     "'1Gbps',"
     "'links': [{'from': 0, 'to': 1}]}}",
     {"2 interfaces", "one"}},
};

static const mistake nodes[] = {
    {FABRIC("'kind': 2"), {"fabric.kind", "2"}},
    {FABRIC("'kind': 'bus', 'bandwidth': '1GB/s'"), {"fabric.kind", "'bus'", "pairs"}},
    {FABRIC("'kind': 'switch'"), {"fabric.bandwidth", "a rate"}},
    {FABRIC("'kind': 'switch', 'bandwidth': '0GB/s'"), {"fabric.bandwidth", "above zero"}},
    {FABRIC("'kind': 'switch', 'bandwidth': '1GB/s', 'pairs': []"), {"fabric", "pairs"}},
    {FABRIC("'kind': 'switch', 'bandwidth': '1GB/s', 'striping': true"),
     {"fabric.striping", "switches"}},
    {FABRIC("'kind': 'switch', 'bandwidth': '1GB/s', 'switches': ['1GB/s']"),
     {"fabric.bandwidth", "switches"}},
    {FABRIC("'kind': 'switch', 'switches': []"), {"fabric.switches", "1 to 16"}},
    {FABRIC("'kind': 'switch', 'switches': ['1GB/s', 5]"), {"fabric.switches[1]", "5"}},
    {FABRIC("'kind': 'pairs', 'bandwidth': '1GB/s'"), {"fabric.pairs"}},
    {FABRIC("'kind': 'pairs', 'bandwidth': '1GB/s', 'pairs': [{'between': [0, 4], 'bandwidth': "
            "'1GB/s'}]"),
     {"fabric.pairs[0].between[1]", "4", "3"}},
    {FABRIC("'kind': 'pairs', 'bandwidth': '1GB/s', 'pairs': [{'between': [1, 1], 'bandwidth': "
            "'1GB/s'}]"),
     {"fabric.pairs[0].between", "twice"}},
    {FABRIC("'kind': 'pairs', 'bandwidth': '1GB/s', 'pairs': [{'between': [1], 'bandwidth': "
            "'1GB/s'}]"),
     {"fabric.pairs[0].between", "list of 1"}},
    {FABRIC("'kind': 'pairs', 'bandwidth': '1GB/s', 'pairs': [{'between': [0, 1], 'bandwidth': "
            "'1GB/s'},"
            "{'between': [1, 0], 'bandwidth': '1GB/s'}]"),
     {"fabric.pairs[1].between", "again"}},
    {"{'nodes': 2, 'accelerators_per_node': 2, " NET ", 'fabric': {'kind': 'switch',"
     "'bandwidth': '1GB/s', 'call_overhead': '1us'}}",
     {"fabric.call_overhead", "network.call_overhead"}},
    {INTERFACES("'count': 0"), {"interfaces.count", "0"}},
    {INTERFACES("'count': 17"), {"interfaces.count", "17", "16"}},
    {INTERFACES("'serves': 'all'"), {"interfaces.serves", "'all'", "shared"}},
    {INTERFACES("'serves': 'accelerator', 'count': 3"),
     {"interfaces.count", "3", "4 accelerators"}},
    {INTERFACES("'serves': [[0, 1], [2, 4]]"), {"interfaces.serves[1][1]", "4"}},
    {INTERFACES("'serves': [[0, 1], [2]]"), {"interfaces.serves", "accelerator 3"}},
    {INTERFACES("'serves': [[0, 1], [2, 3, 2]]"), {"interfaces.serves[1][2]", "twice"}},
    {INTERFACES("'serves': [[0, 1, 2, 3], []]"), {"interfaces.serves[1]", "empty"}},
    {INTERFACES("'serves': []"), {"interfaces.serves", "1 to 16"}},
    {INTERFACES("'serves': [[0, 1], [2, 3]], 'count': 3"), {"interfaces.count", "3", "2"}},
    {INTERFACES("'serves': [[0, 1, 2], [2, 3]], 'striping': true"),
     {"interfaces.striping", "share"}},
    {INTERFACES("'serve': 'shared'"), {"interfaces", "did you mean \"serves\"?"}},
    {INTERFACES("'through_fabric': true"), {"interfaces.through_fabric", "switch"}},
    {WITH("'placement': 'blocks'"), {"placement", "'blocks'", "'block'?"}},
    {WITH("'placement': [0, 1, 2]"), {"placement", "list of 3", "4 ranks"}},
    {WITH("'placement': [0, 1, 2, 4]"), {"placement[3]", "4"}},
    {WITH("'placement': [0, 1, 2, 2]"), {"placement[3]", "node 2"}},
    {WITH("'node_speed': 0"), {"node_speed", "0", "above zero"}},
    {WITH("'node_speed': [1, 1]"), {"node_speed", "list of 2", "4 nodes"}},
    {WITH("'node_speed': [1, 1, -1, 1]"), {"node_speed[2]", "-1"}},
};

static const mistake variations[] = {
#define VARY(text) WITH("'variation': {'compute': {" text "}}")
    {WITH("'variation': {'speed': {}}"), {"variation", "speed", "compute"}},
    {WITH("'variation': {'compute': 'lognormal'}"), {"variation.compute"}},
    {VARY("'sigma': 1"), {"variation.compute.distribution", "lognormal"}},
    {VARY("'distribution': 'log-normal', 'sigma': 1"),
     {"distribution", "'log-normal'", "'lognormal'?"}},
    {VARY("'distribution': 'lognormal'"), {"variation.compute.sigma"}},
    {VARY("'distribution': 'lognormal', 'sigma': 0"), {"variation.compute.sigma", "above zero"}},
    {VARY("'distribution': 'lognormal', 'sigma': 1, 'mean': 0"), {"variation.compute.mean"}},
    {VARY("'distribution': 'lognormal', 'rate': 1"), {"rate"}},
    {VARY("'distribution': 'pareto', 'exponent': 1"),
     {"variation.compute.exponent", "more than 1"}},
    {VARY("'distribution': 'shifted-exponential', 'shift': 1"),
     {"variation.compute.shift", "rate"}},
    {VARY("'distribution': 'shifted-exponential', 'shift': -1"), {"variation.compute.shift", "-1"}},
    {VARY("'distribution': 'shifted-exponential', 'rate': 0"),
     {"variation.compute.rate", "above zero"}},
    {VARY("'distribution': 'gamma', 'shape': -1"), {"variation.compute.shape", "-1"}},
    {VARY("'distribution': 'normal', 'sigma': 1, 'mean': -1"), {"variation.compute.mean", "-1"}},
    {VARY("'distribution': 'uniform', 'low': 2, 'high': 2"),
     {"variation.compute.high", "above low"}},
    {VARY("'distribution': 'uniform', 'high': 2"), {"variation.compute.low"}},
    {WITH("'faults': {}"), {"faults"}},
    {WITH("'faults': [{'node': 4, 'from': '1s'}]"), {"faults[0].node", "4", "3"}},
    {WITH("'faults': [{'node': 1}]"), {"faults[0].from"}},
    {WITH("'faults': [{'node': 1, 'from': '2s', 'to': '2s'}]"), {"faults[0].to", "'2s'", "later"}},
    {WITH("'faults': [{'node': 1, 'from': '2s', 'bandwidth': '1Gbps'}]"),
     {"faults[0]", "bandwidth"}},
    {WITH("'faults': [{'from': '2s'}]"), {"faults[0].node"}},
    {WITH("'faults': [{'link': 'node-1.upp', 'from': '2s', 'bandwidth': '1Gbps'}]"),
     {"faults[0].link", "'node-1.upp'", "'node-1.up'?"}},
    {WITH("'faults': [{'link': 'node-1.up', 'from': '2s'}]"), {"faults[0].bandwidth"}},
    {WITH("'faults': [{'link': 'node-1.up', 'from': '2s', 'bandwidth': '0bps'}]"),
     {"faults[0].bandwidth", "above zero"}},
    {WITH("'faults': [{'link': 'node-1.up', 'node': 1, 'from': '2s', 'bandwidth': '1bps'}]"),
     {"faults[0]", "node"}},
};

static void check_all(const mistake *mistakes, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    lh_platform *platform;
    const lh_status status = case_try(mistakes[i].json, &platform);
    CHECK(status == LH_EINVAL && !platform, "%s: %s", mistakes[i].json, lh_status_text(status));
    const char *message = lh_fail_text();
    for (size_t j = 0; j < 3 && mistakes[i].says[j]; j++) {
      char *said = case_text(mistakes[i].says[j]);
      CHECK(strstr(message, said) != NULL, "%s\n  says \"%s\"\n  without \"%s\"", mistakes[i].json,
            message, said);
      free(said);
    }
    CHECK(!strchr(message, '\n'), "more than a line: %s", message);
    CHECK(strstr(message, "case.json") || strstr(message, ".json"), "which file? %s", message);
    if (getenv("LH_SHOW"))
      printf("%s\n", message);
    lh_platform_free(platform);
  }
}
#define CHECK_ALL(table) check_all(table, sizeof table / sizeof *table)

int main(void)
{
  CHECK_ALL(top_level);
  CHECK_ALL(networks);
  CHECK_ALL(trees);
  CHECK_ALL(regions);
  CHECK_ALL(custom);
  CHECK_ALL(nodes);
  CHECK_ALL(variations);
  return check_report("platform errors");
}
