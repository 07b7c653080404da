import {
  ClusterVirtualMachineOperations,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  type Resource,
} from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { formatRight, hasRight, type Right } from '../../../kubernetes/rights.ts';
import { TO_CANCEL, TO_DRAIN } from '../../drain/rights.ts';
import type { WhyNot } from '../view/actions.ts';
import type { Changeable } from './fleet.ts';

const patch = (resource: Resource): Right[] => [{ verb: 'patch', resource }];
const RIGHTS: Record<Changeable, readonly Right[]> = {
  pools: patch(VirtualMachinePools),
  operations: patch(VirtualMachineOperations),
  clusterOperations: patch(ClusterVirtualMachineOperations),
  schedules: patch(VirtualMachineOperationSchedules),
  drains: [...TO_DRAIN.inCluster, ...TO_DRAIN.inNamespaces],
  cancels: [...TO_CANCEL.inCluster, ...TO_CANCEL.inNamespaces],
};

/** How long an answer counts: rights may be given and taken while the page is open. Milliseconds. */
const KNOWN_MS = 60_000;

interface Known {
  whyNot: WhyNot;
  at: number;
}

/** What the user may change, as the API server says; asked once a minute for each namespace that is shown. */
export class Rights {
  readonly #kube: KubeClient;
  readonly #isReadOnly: boolean;
  readonly #onChange: () => void;
  readonly #known = new Map<string, Known>();
  readonly #checking = new Set<string>();

  constructor(kube: KubeClient, { isReadOnly, onChange }: { isReadOnly: boolean; onChange: () => void }) {
    this.#kube = kube;
    this.#isReadOnly = isReadOnly;
    this.#onChange = onChange;
  }

  /** Returns why the user may not; null if they may. Until the API server has answered, they may not. */
  whyNot(what: Changeable, namespace: string | null): WhyNot {
    if (this.#isReadOnly) return READ_ONLY;
    const key = `${what}/${namespace ?? ''}`;
    const known = this.#known.get(key);
    if (known === undefined || performance.now() - known.at > KNOWN_MS) void this.#check(key, what, namespace);
    return known === undefined ? 'the API server has not said yet whether you may' : known.whyNot;
  }

  async #check(key: string, what: Changeable, namespace: string | null): Promise<void> {
    if (this.#checking.has(key)) return;
    this.#checking.add(key);
    try {
      const checks = RIGHTS[what].map(async (right) =>
        (await this.#has(right, namespace)) ? [] : [formatRight(right)],
      );
      const [missing] = (await Promise.all(checks)).flat();
      const where = namespace === null ? '' : ` in ${namespace}`;
      const whyNot = missing === undefined ? null : `you may not ${missing}${where}`;
      const before = this.#known.get(key);
      this.#known.set(key, { whyNot, at: performance.now() });
      if (before?.whyNot !== whyNot) this.#onChange();
    } catch {
      // It is asked again when the page next needs it.
    } finally {
      this.#checking.delete(key);
    }
  }

  #has(right: Right, namespace: string | null): Promise<boolean> {
    return hasRight(this.#kube, right, namespace ?? undefined);
  }
}

export const READ_ONLY = 'this dashboard was started with --read-only';
