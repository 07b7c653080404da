import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { Client, Connection } from '@temporalio/client';

/**
 * Starts workflows of drover's, and signals to them, from a program: `node examples/scripts/steer.ts restart POOL`,
 * `machine-type GLOB`, `pause POOL [REASON]`, `resume POOL`. Finds the cluster by KUBECONFIG, and Temporal by
 * TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE; NAMESPACE and DROVER_CLUSTER are `default` if not given.
 */
const [verb = '', name = '', reason = 'by a script'] = process.argv.slice(2);
const { NAMESPACE: namespace = 'default', DROVER_CLUSTER: cluster = 'default' } = process.env;

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' });
const { workflow } = new Client({ connection, namespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default' });
const pool = workflow.getHandle(`pool/${cluster}/${namespace}/${name}`);

/** Kubernetes checks who may ask for what: the workflow does what this object says, and ends with it. */
async function operation(spec: object): Promise<void> {
  const config = new KubeConfig();
  config.loadFromDefault();
  const [group, version, kind] = ['drover.dev', 'v1alpha1', 'VirtualMachineOperation'];
  const body = { apiVersion: `${group}/${version}`, kind, metadata: { generateName: 'script-' }, spec };
  const kube = config.makeApiClient(CustomObjectsApi);
  const made: { metadata: { name: string; uid: string } } = await kube.createNamespacedCustomObject({
    group,
    version,
    namespace,
    plural: 'virtualmachineoperations',
    body,
  });
  const { name, uid } = made.metadata;
  const handle = await workflow.signalWithStart('operation', {
    workflowId: `operation/${cluster}/${namespace}/${name}/${uid}`,
    workflowIdConflictPolicy: 'USE_EXISTING',
    taskQueue: `drover/${cluster}`,
    args: [{ cluster, namespace, name, uid }],
    signal: 'changed',
    signalArgs: [],
  });
  console.log(`workflow ${handle.workflowId} runs`);
  await workflow.getHandle(handle.workflowId).result();
}

const act = {
  restart: () => operation({ action: 'Restart', vms: { owner: { kind: 'VirtualMachinePool', name } } }),
  'machine-type': () => operation({ action: 'MachineType', vms: { selector: {} }, machineType: { from: name } }),
  pause: () => pool.signal('pause', { by: 'steer.ts', reason }),
  resume: () => pool.signal('resume', { by: 'steer.ts', reason }),
}[verb];
if (act === undefined) throw new Error('give restart, machine-type, pause or resume, and a name');
await act();
console.log(`${verb} ${name}: done`);
await connection.close();
