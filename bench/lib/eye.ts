import { REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import type { Bench } from './stack.ts';

interface Seen {
  ready: boolean;
  revision: string | undefined;
}
interface Vmi extends Seen {
  uid: string;
}
interface Vm extends Seen {
  /** Whether KubeVirt has seen the newest spec. */
  isObserved: boolean;
}

/** What the API server reports of all VMs and VMIs, over its own connections. `namespace`: of those asked by name. */
export class Eye {
  readonly vms: ListWatch<KubeObject, Vm>;
  readonly vmis: ListWatch<KubeObject, Vmi>;
  #check: (() => void) | undefined;
  #onVm: ((name: string, before: Vm | undefined, after: Vm | undefined) => void) | undefined;
  readonly #namespace: string;

  constructor({ kube }: Bench, namespace: string) {
    this.#namespace = namespace;
    this.vms = new ListWatch<KubeObject, Vm>({
      client: kube,
      resource: VirtualMachines,
      view: vmOf,
      onChange: (key, before, after) => {
        this.#onVm?.(key, before, after);
        this.#check?.();
      },
    });
    this.vmis = new ListWatch<KubeObject, Vmi>({
      client: kube,
      resource: VirtualMachineInstances,
      view: vmiOf,
      onChange: () => this.#check?.(),
    });
  }

  async start(): Promise<void> {
    await Promise.all([this.vms.start().ready(), this.vmis.start().ready()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.vms.stop(), this.vmis.stop()]);
  }

  /** Resolves with the time as soon as `holds` does. */
  until(holds: () => boolean): Promise<number> {
    return new Promise((resolve) => {
      this.#check = () => {
        if (!holds()) return;
        this.#check = undefined;
        resolve(performance.now());
      };
      this.#check();
    });
  }

  /** Resolves with the time of the first VM change for which `isIt` is true. */
  firstVm(isIt: (name: string, before: Vm | undefined, after: Vm | undefined) => boolean): Promise<number> {
    return new Promise((resolve) => {
      this.#onVm = (key, before, after) => {
        if (!isIt(key.slice(key.indexOf('/') + 1), before, after)) return;
        this.#onVm = undefined;
        resolve(performance.now());
      };
    });
  }

  isUp = (name: string): boolean =>
    this.vms.get(`${this.#namespace}/${name}`)?.ready === true &&
    this.vmis.get(`${this.#namespace}/${name}`)?.ready === true;
}

function vmOf({ metadata, ...vm }: Stored): Vm {
  const { ready = false, desiredGeneration } = (vm['status'] ?? {}) as { ready?: boolean; desiredGeneration?: number };
  return { ready, revision: metadata.labels?.[REVISION_LABEL], isObserved: desiredGeneration === metadata.generation };
}

function vmiOf({ metadata, ...vmi }: Stored): Vmi {
  const conditions = (vmi['status'] as { conditions?: { type: string; status: string }[] } | undefined)?.conditions;
  const ready =
    metadata.deletionTimestamp === undefined && conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return { uid: metadata.uid, ready, revision: metadata.labels?.[REVISION_LABEL] };
}
