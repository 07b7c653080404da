import { parseArgs } from 'node:util';
import type { KubeObject } from '../api/objects.ts';
import {
  KubeVirtPools,
  Namespaces,
  VirtualMachineInstances,
  VirtualMachinePools,
  type Resource,
} from '../api/resources.ts';
import { KubeClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { ListWatch } from '../kubernetes/list-watch.ts';
import { median } from './lib/measure.ts';

/**
 * Rolls the same change through a KubeVirt pool and one of drover's, in turn, on a cluster that runs both:
 * `node bench/peer.ts --kubeconfig FILE [--vms 40] [--rounds 3]`. A worker of drover must run there, and drover's
 * definitions must be installed. All that it makes is in its own namespace, which it deletes.
 */
const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    vms: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '3' },
  },
});
const VMS = Number(values.vms);
const ROUNDS = Number(values.rounds);
const MAX_UNAVAILABLE = '25%';
const NAMESPACE = `drover-bench-${process.pid}`;
const LABEL = 'bench.drover.dev/pool';
const WITHIN_MS = 600_000;

interface Contender {
  /** Of its pool and, with a number, of its VMs. */
  name: string;
  resource: Resource;
  poolWith: (template: object) => { spec: object };
  changeTo: (template: object) => object;
}

/** Each round has another grace period: a change that requires a restart. */
const templateOf = (name: string, round: number): object => ({
  metadata: { labels: { [LABEL]: name } },
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { labels: { [LABEL]: name } },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } }, terminationGracePeriodSeconds: 30 + round },
    },
  },
});

const CONTENDERS: Contender[] = [
  {
    name: 'kubevirt',
    resource: KubeVirtPools,
    poolWith: (virtualMachineTemplate) => ({
      spec: {
        replicas: VMS,
        maxUnavailable: MAX_UNAVAILABLE,
        selector: { matchLabels: { [LABEL]: 'kubevirt' } },
        virtualMachineTemplate,
      },
    }),
    changeTo: (virtualMachineTemplate) => ({ spec: { virtualMachineTemplate } }),
  },
  {
    name: 'drover',
    resource: VirtualMachinePools,
    poolWith: (template) => ({ spec: { replicas: VMS, maxUnavailable: MAX_UNAVAILABLE, template } }),
    changeTo: (template) => ({ spec: { template } }),
  },
];

interface Vmi {
  isReady: boolean;
  gracePeriod: number;
}

/** The VMIs of one pool, as the API server reports them. */
class Eye {
  /** The most that were not ready at once since `begin`. */
  mostDown = 0;
  readonly #vmis: ListWatch<KubeObject, Vmi>;
  #onChange = (): void => {};

  constructor(client: KubeClient, pool: string) {
    this.#vmis = new ListWatch<KubeObject, Vmi>({
      client,
      resource: VirtualMachineInstances,
      labelSelector: `${LABEL}=${pool}`,
      view: vmiOf,
      onChange: () => {
        this.mostDown = Math.max(this.mostDown, VMS - this.#ready().length);
        this.#onChange();
      },
    });
  }

  async start(): Promise<void> {
    await this.#vmis.start().ready();
  }

  stop(): Promise<void> {
    return this.#vmis.stop();
  }

  /** Resolves when so many are ready, and all have this grace period. */
  async all(gracePeriod: number): Promise<void> {
    const isDone = (): boolean => this.#ready().filter((vmi) => vmi.gracePeriod === gracePeriod).length === VMS;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`${this.#ready().length} of ${VMS} VMIs are ready`)), WITHIN_MS);
    this.#onChange = () => isDone() && resolve();
    this.#onChange();
    await promise.finally(() => clearTimeout(timer));
  }

  #ready(): Vmi[] {
    return [...this.#vmis.values()].filter(({ isReady }) => isReady);
  }
}

function vmiOf(vmi: KubeObject): Vmi {
  const spec = vmi['spec'] as { terminationGracePeriodSeconds?: number };
  const status = vmi['status'] as { phase?: string; conditions?: { type: string; status: string }[] } | undefined;
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  return {
    isReady: isReady && status?.phase === 'Running' && vmi.metadata.deletionTimestamp === undefined,
    gracePeriod: spec.terminationGracePeriodSeconds ?? 0,
  };
}

/** Returns how long the change took, in milliseconds. */
async function roll(kube: KubeClient, contender: Contender, eye: Eye, round: number): Promise<number> {
  const { name, resource, changeTo } = contender;
  eye.mostDown = 0;
  const began = performance.now();
  await kube.patch(resource, { namespace: NAMESPACE, name }, 'merge', changeTo(templateOf(name, round)));
  await eye.all(30 + round);
  return performance.now() - began;
}

async function measure(kube: KubeClient): Promise<void> {
  const eyes = CONTENDERS.map(({ name }) => new Eye(kube, name));
  try {
    await Promise.all(eyes.map((eye) => eye.start()));
    for (const { name, resource, poolWith } of CONTENDERS)
      await kube.create(resource, { metadata: { namespace: NAMESPACE, name }, ...poolWith(templateOf(name, 0)) });
    await Promise.all(eyes.map((eye) => eye.all(30)));
    console.log(`${VMS} running VMs in each of two pools, maxUnavailable ${MAX_UNAVAILABLE}; milliseconds`);
    const ratios: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const times: number[] = [];
      for (const [index, contender] of CONTENDERS.entries())
        times.push(await roll(kube, contender, eyes[index]!, round));
      const [theirs, ours] = times as [number, number];
      ratios.push(ours / theirs);
      const parts = CONTENDERS.map(
        ({ name }, index) => `${name} ${times[index]!.toFixed()} (most down ${eyes[index]!.mostDown})`,
      );
      console.log(`round ${round}: ${parts.join(', ')}; ratio ${(ours / theirs).toFixed(2)}`);
    }
    console.log(`median: ${median(ratios).toFixed(2)} of the time that KubeVirt's own pool takes (aim: 0.9 or less)`);
  } finally {
    await Promise.all(eyes.map((eye) => eye.stop()));
  }
}

if (values.kubeconfig === undefined) throw new Error('give --kubeconfig FILE');
const kube = new KubeClient(loadKubeConfig({ kubeconfig: values.kubeconfig }), { fieldManager: 'bench' });
try {
  await kube.create(Namespaces, { metadata: { name: NAMESPACE } });
  try {
    await measure(kube);
  } finally {
    for (const { name, resource } of CONTENDERS) await kube.delete(resource, { namespace: NAMESPACE, name });
    await kube.delete(Namespaces, { name: NAMESPACE });
  }
} finally {
  await kube.close();
}
