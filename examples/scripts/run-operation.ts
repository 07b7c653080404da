import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ApiException, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { Client, Connection } from '@temporalio/client';

/**
 * Starts the workflow of an operation, and waits until it has ended: `node examples/scripts/run-operation.ts NAME
 * [--namespace NAMESPACE] [--cluster CLUSTER]`. The exit code is 0 if all that was asked for is done, else 1.
 *
 * A worker does so by itself for each operation that is made. A script of yours may, too, such as a pipeline that has
 * Temporal's client anyway and wants the result of the workflow. Temporal does not bypass Kubernetes: the
 * workflow does what the object says that its name and UID stand for, and the API server has checked that object.
 *
 * Finds the cluster by KUBECONFIG, and Temporal by TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    namespace: { type: 'string', short: 'n', default: 'default' },
    cluster: { type: 'string', default: 'default' },
  },
});
const [name] = positionals;
const { namespace, cluster } = values;
if (name === undefined) {
  console.error('error: give the name of a VirtualMachineOperation');
  process.exit(2);
}

interface Operation {
  metadata: { uid: string };
  status?: { conditions?: { type: string; status: string; message?: string }[]; completionTime?: string };
}

const config = new KubeConfig();
config.loadFromDefault();
const kube = config.makeApiClient(CustomObjectsApi);
const operations = { group: 'drover.dev', version: 'v1alpha1', plural: 'virtualmachineoperations', namespace };
const read = async (): Promise<Operation> =>
  (await kube.getNamespacedCustomObject({ ...operations, name })) as Operation;
const { uid } = (
  await read().catch((error: unknown) => {
    if (!(error instanceof ApiException) || error.code !== 404) throw error;
    console.error(`error: there is no VirtualMachineOperation ${name} in namespace ${namespace}`);
    process.exit(1);
  })
).metadata;

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' });
const client = new Client({ connection, namespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default' });
// A worker has most likely started it by now; then the signal only has it look at its object again.
const { workflowId } = await client.workflow.signalWithStart('operation', {
  workflowId: `operation/${cluster}/${namespace}/${name}/${uid}`,
  workflowIdConflictPolicy: 'USE_EXISTING',
  taskQueue: `drover/${cluster}`,
  args: [{ cluster, namespace, name, uid }],
  signal: 'changed',
  signalArgs: [],
});
console.log(`workflow ${workflowId} runs`);
await connection.close();

// What has come of it stands in the object, also if the workflow is lost on the way.
let { status } = await read();
while (status?.completionTime === undefined) {
  await sleep(1_000);
  ({ status } = await read());
}
const ended = status.conditions?.find(({ type }) => type === 'Complete' || type === 'Failed');
console.log(`${ended?.type}: ${ended?.message}`);
if (ended?.type !== 'Complete') process.exitCode = 1;
