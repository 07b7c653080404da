import { DO_NOT_DISRUPT_ANNOTATION } from '../../api/names.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { refersTo } from '../../api/ownership.ts';
import { VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import { formatNotReplaced } from '../../decisions/healing/format.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import type { DryRun } from '../cli/values.ts';
import { requestOfPool } from '../pool/ask-pool.ts';
import type { Pool } from '../pool/objects.ts';
import type { Session } from '../session/session.ts';
import { checkHeals } from './control.ts';
import { nextTry } from './lines.ts';
import { healView, type HealView } from './view.ts';

export type CycleSignal = 'healNow' | 'healSkip';

export interface CycleOptions {
  reason?: string | undefined;
  dryRun: DryRun;
}

/** Outcome of a request. */
export interface CycleRequestResult {
  /** The outcome in words. */
  done: string;
  /** The pool once its status shows the outcome, or as it was if the status never shows it. */
  pool: Stored<Pool>;
}

/**
 * Asks the pool's workflow about the healing of one VM: its cycle in progress, or a new one if it was given up or
 * skipped. Throws `Failure` if the request makes no sense, if no workflow manages the pool, or if the status doesn't
 * show it in time.
 */
export async function askCycle(
  session: Session,
  pool: Stored<Pool>,
  vm: string,
  signal: CycleSignal,
  options: CycleOptions,
): Promise<CycleRequestResult> {
  checkHeals(pool);
  const view = healView(pool);
  checkCycle(signal, view, vm);
  const cycle = cycleOf(view, vm);
  const ended = endedOf(view, vm);
  if (cycle === undefined && (signal === 'healSkip' || ended === null)) throw await noCycle(session, view, vm);
  const done =
    cycle === undefined
      ? `is healed again, with its replacements counted from zero (${formatFinished(ended!)})`
      : doneOf(signal, view, vm);
  const what = `${signal === 'healNow' ? 'heal' : 'skip'} ${vm}`;
  const isHandled = (now: Stored<Pool>): boolean => isCycleRequestHandled(signal, vm, healView(now), view);
  return { done, pool: await requestOfPool(session, pool, { signal, more: { vm }, what, isHandled }, options) };
}

/** The outcome for the VM in words. Nothing can speed up a VM that is still shutting down. */
export function doneOf(signal: CycleSignal, view: HealView, vm: string): string {
  if (signal === 'healSkip') return 'skipped';
  return `does not wait any more${cycleOf(view, vm)?.phase === 'Removing' ? ', except until it is gone with its VMI' : ''}`;
}

/** Throws `Failure` if the status already shows that the request makes no sense. */
export function checkCycle(signal: CycleSignal, view: HealView, vm: string): void {
  const cycle = cycleOf(view, vm);
  if (signal === 'healNow' && cycle?.phase === 'Provisioning') {
    throw new Failure(
      `vm ${vm} is recreated already (replacement ${cycle.attempt}), and watched until it runs well: there is nothing to wait for less`,
    );
  }
}

/** Reports whether the pool's status shows that the request was taken, compared with the status `before`. */
export function isCycleRequestHandled(signal: CycleSignal, vm: string, now: HealView, before: HealView): boolean {
  const [was, is] = [cycleOf(before, vm), cycleOf(now, vm)];
  const isEnded = lastOf(now, vm)?.at !== lastOf(before, vm)?.at;
  if (signal === 'healSkip' || was === undefined) return isEnded || (was !== undefined && is === undefined);
  return is === undefined || is.skipDelay === true || is.phase === 'Provisioning' || is.attempt !== was.attempt;
}

/** Describes the VM's current healing state. */
export function formatCycle(view: HealView, vm: string, now: number): string {
  const cycle = cycleOf(view, vm);
  if (cycle !== undefined) {
    const next = cycle.nextAt === null ? '' : `, next try ${nextTry(cycle.nextAt, now)}`;
    return `replacement ${cycle.attempt}, ${cycle.phase}${next}: ${cycle.why}`;
  }
  const last = lastOf(view, vm);
  return last === undefined ? 'no cycle of it is in progress' : formatFinished(last);
}

const cycleOf = ({ cycles }: HealView, vm: string): HealView['cycles'][number] | undefined =>
  cycles.find((one) => one.vm === vm);
const lastOf = ({ finished }: HealView, vm: string): HealView['finished'][number] | undefined =>
  finished.find((one) => one.vm === vm);

/** The last cycle of a VM that was given up or skipped; null for any other VM. */
function endedOf(view: HealView, vm: string): HealView['finished'][number] | null {
  const last = lastOf(view, vm);
  return last?.end === 'GivenUp' || last?.end === 'Skipped' ? last : null;
}

async function noCycle(session: Session, view: HealView, vm: string): Promise<Failure> {
  const told = whyNoCycle(view, vm);
  if (told !== null) return new Failure(told);
  const kube = await session.kube();
  const found = await kube.get(VirtualMachines, { namespace: view.namespace, name: vm }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (found === undefined)
    return new Failure(`there is no vm ${vm} in ${view.namespace}, and pool ${view.pool} heals none of that name`);
  const owner = controllerOf(found);
  if (owner?.name !== view.pool || !refersTo(owner, VirtualMachinePools))
    return new Failure(`vm ${vm} is not of pool ${view.pool}`);
  if (found.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION] === 'true')
    return new Failure(
      `vm ${vm} is not replaced, sick or not: its owner asked that nothing disrupts it (${DO_NOT_DISRUPT_ANNOTATION})`,
    );
  return new Failure(formatNoCycle(view, vm));
}

/** Why the VM has no cycle in progress; null if the status does not say it of this VM. */
export function whyNoCycle(view: HealView, vm: string): string | null {
  const last = endedOf(view, vm);
  if (last !== null) {
    const again = `\`drover heal now pool ${view.pool} ${vm}\` has it healed again`;
    return `vm ${vm} is left as it is already (${formatFinished(last)}): ${again}`;
  }
  const found = view.notReplaced.find((one) => one.vm === vm);
  if (found === undefined) return null;
  const words = formatNotReplaced(found);
  return found.waitsFor === undefined ? `vm ${words}` : `no replacement of vm ${vm} has begun: ${words}`;
}

/** For a VM that the status doesn't name: it is known not to be sick only if the status names all sick VMs. */
export function formatNoCycle({ pool, notListed, suspended }: HealView, vm: string): string {
  const none = `no replacement of vm ${vm} is in progress`;
  if (notListed === 0) {
    const others = `\`drover heal status pool ${pool}\` shows those that are`;
    return `${none}, and by the rules of pool ${pool} it is not sick: ${others}`;
  }
  const left = `the status of pool ${pool} leaves out ${notListed} of the VMs that are not replaced`;
  const why = suspended === null ? '' : `; healing is suspended: ${suspended.message}`;
  return `${none}, and whether it waits for one is not known: ${left}${why}`;
}

function formatFinished({ end, attempts, why }: HealView['finished'][number]): string {
  if (end === 'Healed') return `healed after ${replacements(attempts)}: ${why}`;
  // The reason for giving up already begins with how it ended.
  if (end === 'GivenUp') return why;
  const how = { Left: 'left as it is', Skipped: 'skipped', Refused: 'its deletion was refused' }[end];
  return `${how}${attempts === 0 ? '' : ` after ${replacements(attempts)}`}: ${why}`;
}

const replacements = (count: number): string => `${count} ${count === 1 ? 'replacement' : 'replacements'}`;
