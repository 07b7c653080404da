import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import type { TestFleet } from '../../integration/fleet.ts';
import { PATIENCE_MS, waitFor } from '../../wait-for.ts';
import { kubeconfigOf, NAMESPACE } from '../service-accounts.ts';

const workload = (group: string, plural: string, kind: string): Resource => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced: true,
});
export const Jobs = workload('batch', 'jobs', 'Job');
export const Deployments = workload('apps', 'deployments', 'Deployment');
export const SETUP = { namespace: NAMESPACE, name: 'drover-setup' };

interface Container {
  args: string[];
  image: string;
  env: { name: string; value: string }[];
}

export interface Workload extends KubeObject {
  spec: { replicas: number; template: { spec: { serviceAccountName: string; containers: [Container] } } };
}

export const containerOf = ({ spec }: Workload): Container => spec.template.spec.containers[0];
export const environmentOf = (of: Workload): Record<string, string> =>
  Object.fromEntries(containerOf(of).env.map(({ name, value }) => [name, value]));

/** Runs a container to its end. */
type Runs = (args: string[], env: Record<string, string>, image: string) => Promise<{ isDone: boolean; said: string }>;

/** Does what Kubernetes would do with the Job of the setup: runs it with its account, and notes how it ended. */
export class Kubelet {
  readonly #fleet: () => TestFleet;
  readonly #runs: Runs;
  /** UIDs of Jobs that have been run. */
  readonly #played = new Set<string>();

  constructor(fleet: () => TestFleet, runs: Runs) {
    this.#fleet = fleet;
    this.#runs = runs;
  }

  /** Waits for the Job, and returns what its container said. */
  async playSetup(): Promise<string> {
    const { kube } = this.#fleet();
    const job = await waitFor(async () => {
      const there = await kube.get<Workload & Stored>(Jobs, SETUP);
      if (this.#played.has(there.metadata.uid)) throw new Error('the Job of before is still there');
      return there;
    }, PATIENCE_MS);
    this.#played.add(job.metadata.uid);
    const { args, image } = containerOf(job);
    const KUBECONFIG = await kubeconfigOf(this.#fleet(), job.spec.template.spec.serviceAccountName);
    const ended = await this.#runs(args, { ...environmentOf(job), KUBECONFIG }, image);
    const now = new Date().toISOString().replace(/\.\d+/, '');
    const types = ended.isDone ? ['SuccessCriteriaMet', 'Complete'] : ['FailureTarget', 'Failed'];
    const conditions = types.map((type) => ({
      type,
      status: 'True',
      reason: ended.isDone ? 'CompletionsReached' : 'BackoffLimitExceeded',
      message: '',
      lastProbeTime: now,
      lastTransitionTime: now,
    }));
    const status = ended.isDone
      ? { startTime: now, completionTime: now, succeeded: 1, conditions }
      : { startTime: now, failed: 1, conditions };
    await kube.patch(Jobs, SETUP, 'merge', { status }, { subresource: 'status' });
    return ended.said;
  }
}
