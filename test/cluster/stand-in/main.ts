import { parseArgs } from 'node:util';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { playNodes } from './nodes.ts';
import { PodPlayer } from './pods.ts';
import { VmiPlayer } from './vmis.ts';

/**
 * `node test/cluster/stand-in/main.ts --kubeconfig FILE [--nodes 3]`: plays scheduler, kubelet and virt-handler for
 * KubeVirt's virt-api and virt-controller on a bare API server, until it is ended.
 *
 * The kubeconfig is that of KubeVirt's own service account: webhooks let no other write a VMI's status. Then
 * `npm run test:cluster -- --stand-in` runs there.
 */

const { values } = parseArgs({ options: { kubeconfig: { type: 'string' }, nodes: { type: 'string', default: '3' } } });
const client = new KubeClient(loadKubeConfig({ kubeconfig: values.kubeconfig }), { fieldManager: 'stand-in' });
const names = Array.from({ length: Number(values.nodes) }, (_, index) => `node-${index + 1}`);

await playNodes(client, names);
const pods = new PodPlayer(client, names);
await pods.start();
await new VmiPlayer(client, pods).start();
process.stdout.write(`${names.join(', ')} take VMs\n`);
