import { CHANGES_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { VmTemplate } from '../../api/pool/pool.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { withChange, type ChangeRecord } from '../../decisions/changes/change-record.ts';
import { formatPath, type Edit } from '../../decisions/changes/edits.ts';
import { changeNeed } from '../../decisions/changes/need.ts';
import { asStarted, unkept, withDefaults } from '../../decisions/changes/undo.ts';
import { wantedOf, type Wanted } from '../../decisions/changes/wanted.ts';
import type { Labels } from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import { blockedNeed } from '../../decisions/disruption/need.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { field } from '../../decisions/lib/json.ts';
import { mergePatch, type WrittenVm } from '../../decisions/merge/vm.ts';
import type { ChangeNeed } from '../../decisions/views/annotations/recorded-change.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { mayMigrateFor } from '../../decisions/vm-update/disruption.ts';
import type { KubeClient, WriteOptions } from '../../kubernetes/client.ts';
import { ActRefused } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { NotAdmitted, type Claim } from '../disruption-budget/claim.ts';
import { digestOf } from '../lib/digest.ts';
import type { LiveVm } from '../owners/live-vm.ts';
import { startedFrom } from './started-from.ts';

/** What an operation with `action: Patch` does to VMs, by its object. */
export interface Change {
  wanted: Wanted;
  /** Whether VMs whose change needs a restart are restarted for it. */
  restarts: boolean;
  record: Pick<ChangeRecord, 'id' | 'operation' | 'by' | 'reason'>;
}

/** What is left of a VM that is not changed: it has all of it already (`nothing`), or is left as it is. */
type Unchanged = { is: 'nothing' } | { is: 'skipped'; message: string };

/** What was done to a VM. `changed`: it is as wanted, `vm` is how it is now. */
export type Changed = { is: 'changed'; vm: VmView } | Unchanged;

/** The change of one VM. `shape`: the same for all VMs for which it does the same, and that need the same for it. */
interface VmChange {
  is: 'change';
  need: ChangeNeed;
  /** Whether KubeVirt may migrate the VMI for it. */
  migrates: boolean;
  after: Stored<VirtualMachine>;
  edits: readonly Edit[];
  /** The CHANGES_ANNOTATION with a record of these edits; null if they are too long for one. */
  annotationOf: (edits: readonly Edit[]) => string | null;
  shape: string;
}

/** Of how many shapes it is known that the API server has taken, or refused, a dry run. */
export const MOST_SHAPES = 1_000;
const CHANGES_PATH = ['metadata', 'annotations', CHANGES_ANNOTATION];
const TOO_LONG = 'the values there are too long to be recorded, so the change could not be undone';

/**
 * Changes VMs, each in the version that it was read in, and notes on it in the same write what was there before. Before
 * the first VM of each shape of change, a dry run shows what KubeVirt and all policies make of it.
 */
export class VmChanger {
  readonly #client: KubeClient;
  readonly #cache: Pick<ClusterCache, 'vmView' | 'rolloutStrategy' | 'kubevirtPlugs'>;
  readonly #change: Change;
  /** The edits of each shape with the defaults that a dry run has shown. */
  readonly #tried = new Map<string, readonly Edit[]>();

  constructor(
    client: KubeClient,
    cache: Pick<ClusterCache, 'vmView' | 'rolloutStrategy' | 'kubevirtPlugs'>,
    change: Change,
  ) {
    this.#client = client;
    this.#cache = cache;
    this.#change = change;
  }

  /**
   * Throws what the API server refuses. `claimed`: has a change written under a claim on the VM's disruption budgets,
   * since KubeVirt may migrate the VMI for it; `becomes`: the labels that the VM gets with it.
   */
  async change(
    live: LiveVm,
    claimed: (write: (claim: Claim) => Promise<Changed>, becomes: Labels) => Promise<Changed | NotAdmitted>,
  ): Promise<Changed | NotAdmitted> {
    const found = await this.find(live);
    if (found instanceof NotAdmitted || found.is !== 'change') return found;
    const expected = this.#tried.get(found.shape) ?? (await this.tryOut(live, found));
    const write = (claim?: Claim): Promise<Changed> => this.#changeUnder(live, found, expected, claim);
    return found.migrates ? claimed(write, found.after.metadata.labels ?? {}) : write();
  }

  async #changeUnder(live: LiveVm, found: VmChange, expected: readonly Edit[], claim?: Claim): Promise<Changed> {
    const options = { lastCheck: claim?.lastCheck };
    let { written, edits } = await this.#write(live, found, expected, options);
    // KubeVirt has filled in another default than for the VM of the dry run: the record must name this one.
    if (canonical(edits) !== canonical(expected))
      ({ written } = await this.#write({ ...live, stored: written }, { ...found, after: written }, edits, options));
    return { is: 'changed', vm: this.#cache.vmView(written) };
  }

  /**
   * Makes a dry run of what was found for the VM, and returns its edits with the defaults that are filled in. Throws
   * what the API server refuses, or would not keep.
   */
  async tryOut(live: LiveVm, change: VmChange): Promise<readonly Edit[]> {
    const { edits } = await this.#write(live, change, change.edits, { dryRun: true });
    if (this.#tried.size < MOST_SHAPES) this.#tried.set(change.shape, edits);
    return edits;
  }

  /** Returns what is to be changed of the VM; why nothing is, or not now. */
  async find({ stored, vm, vmi }: LiveVm): Promise<VmChange | Unchanged | NotAdmitted> {
    const found = wantedOf(stored, this.#change.wanted);
    if (found.is !== 'change') return found;
    const { after, edits, kept } = found;
    const live = liveVmi(vmi);
    const started = await startedFrom(this.#client, vm, live);
    const before = started === undefined ? stored : asStarted(after, edits, started);
    const need = this.#needOf(before, after, { vm, live });
    const restarts = need === 'Restart' && this.#change.restarts ? live : undefined;
    const blocked = restarts === undefined ? null : blockedNeed(vm, restarts);
    if (blocked !== null)
      return blocked.need === 'excluded'
        ? { is: 'skipped', message: blocked.message }
        : new NotAdmitted(blocked.message);
    const record = {
      ...this.#change.record,
      at: new Date().toISOString(),
      need,
      ...(restarts !== undefined && { vmi: restarts.uid }),
      ...(kept !== undefined && { kept }),
    };
    const annotationOf = (of: readonly Edit[]): string | null =>
      withChange(stored.metadata.annotations, { ...record, edits: [...of] });
    if (annotationOf(edits) === null) return { is: 'skipped', message: TOO_LONG };
    const migrates = need === 'Live' && mayMigrateFor(before as VmTemplate, after as VmTemplate);
    return { is: 'change', need, migrates, after, edits, annotationOf, shape: digestOf([need, edits]) };
  }

  #needOf(before: object, after: object, { vm, live }: { vm: VmView; live: VmiView | undefined }) {
    return changeNeed({
      before: before as VmTemplate,
      after: after as VmTemplate,
      vmi: live,
      waitsForRestart: vm.restartRequired !== null,
      strategy: this.#cache.rolloutStrategy(),
      plugs: this.#cache.kubevirtPlugs(),
    });
  }

  /** `recorded`: the edits that the record names. Returns the edits as they are stored, defaults included. */
  async #write(
    { stored, vm: { namespace, name } }: LiveVm,
    { after, edits: asked, annotationOf }: VmChange,
    recorded: readonly Edit[],
    options: WriteOptions,
  ): Promise<{ written: Stored<VirtualMachine>; edits: readonly Edit[] }> {
    const annotation = annotationOf(recorded);
    if (annotation === null) throw new ActRefused('Invalid', TOO_LONG);
    const patch = patchOf(stored, after, annotation);
    const at = { namespace, name };
    const written = await this.#client.patch<VirtualMachine>(VirtualMachines, at, 'merge', patch, options);
    const edits = withDefaults(written, asked);
    const lost = unkept(written, edits) ?? (field(written, ...CHANGES_PATH) === annotation ? null : CHANGES_PATH);
    // Without the values: they may be a user's data, and what fails is told in Temporal.
    if (lost !== null)
      throw new ActRefused('Invalid', `${formatPath(lost)} does not stay as it is written: something changes it`);
    return { written, edits };
  }
}

/** The merge patch that changes the VM in the version that it was read in, with this CHANGES_ANNOTATION. */
function patchOf(live: Stored<VirtualMachine>, after: WrittenVm, annotation: string) {
  const { uid, resourceVersion } = live.metadata;
  const { metadata, ...change } = mergePatch(live, after) ?? {};
  const annotations: Record<string, unknown> = {
    ...(metadata?.['annotations'] as object | undefined),
    [CHANGES_ANNOTATION]: annotation,
  };
  return { ...change, metadata: { ...metadata, uid, resourceVersion, annotations } };
}
