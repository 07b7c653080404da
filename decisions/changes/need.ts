import type { VmTemplate } from '../../api/pool/pool.ts';
import { canonical } from '../lib/canonical-json.ts';
import { field } from '../lib/json.ts';
import type { ChangeNeed } from '../views/annotations/recorded-change.ts';
import type { VmiView } from '../views/vmi.ts';
import { disruptionBetween, PLUGS_ALL, type KubeVirtPlugs } from '../vm-update/disruption.ts';
import { liveRefusal } from '../vm-update/live-update.ts';
import { podPartsBetween } from '../vm-update/pod-part.ts';

export interface NeedInput {
  before: VmTemplate;
  after: VmTemplate;
  /** Its VMI that has not ended; undefined for a VM that does not run. */
  vmi: VmiView | undefined;
  /** KubeVirt says already that the VM waits for a restart. */
  waitsForRestart: boolean;
  strategy: 'Stage' | 'LiveUpdate';
  plugs?: KubeVirtPlugs;
}

/** Returns what this change of a VM needs, as KubeVirt treats it. */
export function changeNeed({ before, after, vmi, waitsForRestart, strategy, plugs }: NeedInput): ChangeNeed {
  if (canonical(templateOf(before)) === canonical(templateOf(after))) return 'Nothing';
  if (vmi === undefined) return 'Start';
  const disruption = disruptionBetween(before, after, strategy, plugs ?? PLUGS_ALL);
  // Labels and annotations: if a VM has no owner, nothing writes them to the running VMI.
  if (disruption === 'None') return podPartsBetween(before, after).length > 0 ? 'Start' : 'Nothing';
  if (disruption !== 'Live') return 'Restart';
  // KubeVirt withholds every live update while another change waits for a restart.
  return waitsForRestart || liveRefusal(after, vmi, before) !== null ? 'Restart' : 'Live';
}

/** What VMIs are made from; disk templates and the like concern the VM alone. */
const templateOf = ({ spec }: VmTemplate): unknown =>
  ['template', 'instancetype', 'preference'].map((key) => field(spec, key) ?? null);
