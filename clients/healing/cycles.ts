import { DO_NOT_DISRUPT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { isOwnerReferenceTo } from '../../api/owner-references.ts';
import { VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import { formatNotReplaced } from '../../decisions/healing/format.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { HealingRequest } from '../../decisions/pool/healing-request.ts';
import { isOptedOut } from '../../decisions/views/annotations/protection.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { Failure, ifThere, throwAll, UsageError } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import { plain, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { poolAndVms } from '../cli/targets.ts';
import { onePool } from '../pool/named-pools.ts';
import { requestOfPool, type RequestOptions } from '../pool/request.ts';
import type { Session, Work } from '../session/session.ts';
import { nextTry } from './lines.ts';
import { checkHeals, HealingChannel } from './pause-and-resume.ts';
import { healView, type HealView } from './view.ts';

export type CycleAction = 'now' | 'skip';

/** Returns what a command does: it asks a pool about the healing of VMs, and says what becomes of each. */
export const cycleCommand =
  (action: CycleAction): Work<RequestOptions> =>
  async (session, options, ...args) => {
    const { pool: name, vms } = poolAndVms(args);
    if (vms.length === 0) throw new UsageError(`which VMs of pool ${name}? Give their names`);
    const target = await onePool(session, ['pool', name]);
    const { done, failures, pool } = await requestCycles(session, target, action, vms, options);
    for (const [vm, outcome] of done) {
      const what = plain(`${labelOf(Vms.resource, vm)} ${outcome}${dryRunSuffix(options.dryRun)}`);
      print(options.dryRun === 'none' ? `${what}\n  ${plain(formatCycle(healView(pool), vm, Date.now()))}` : what);
    }
    throwAll(failures);
  };

/** What becomes of VMs that one asks about. */
interface CycleAnswer {
  /** The outcome for each VM, in words. */
  done: ReadonlyMap<string, string>;
  /** Why nothing was asked for other VMs. */
  failures: unknown[];
  /** The pool once its status answers; in a dry run, as it was. */
  pool: Stored<Pool>;
}

/**
 * Asks a pool about the healing of VMs: their cycles in progress, or new ones if they were given up or skipped. Asks
 * for all VMs that it makes sense for, even if it makes none for others. Throws `Failure` if nothing can be asked of
 * the pool, or if the request is refused or not answered in time.
 */
export async function requestCycles(
  session: Session,
  pool: Stored<Pool>,
  action: CycleAction,
  vms: readonly string[],
  options: RequestOptions,
): Promise<CycleAnswer> {
  checkHeals(pool);
  const view = healView(pool);
  const done = new Map<string, string>();
  const failures: unknown[] = [];
  for (const vm of new Set(vms))
    await outcomeOf(session, view, action, vm).then(
      (outcome) => done.set(vm, outcome),
      (error: unknown) => failures.push(error),
    );
  if (done.size === 0) return { done, failures, pool };
  const body = { action, vms: [...done.keys()] } satisfies HealingRequest;
  const what = `${action === 'now' ? 'heal' : 'skip'} ${formatNames(body.vms)}`;
  const answered = await requestOfPool(session, pool, { ...HealingChannel, body, what }, options);
  return { done, failures, pool: answered.pool };
}

/** The outcome for one VM in words. Throws `Failure` if the request makes no sense for it. */
async function outcomeOf(session: Session, view: HealView, action: CycleAction, vm: string): Promise<string> {
  checkCycle(action, view, vm);
  if (cycleOf(view, vm) !== undefined) return doneOf(action, view, vm);
  const ended = endedOf(view, vm);
  if (action === 'skip' || ended === null) throw await noCycle(session, view, vm);
  return `is healed again, counting attempts from one (${formatFinished(ended)})`;
}

/** The outcome for the VM in words. Nothing can speed up a VM that is still shutting down. */
export function doneOf(action: CycleAction, view: HealView, vm: string): string {
  if (action === 'skip') return 'skipped';
  return `no longer waits${cycleOf(view, vm)?.phase === 'Removing' ? ', and is recreated once it and its VMI are gone' : ''}`;
}

/** Throws `Failure` if the status already shows that the request makes no sense. */
export function checkCycle(action: CycleAction, view: HealView, vm: string): void {
  const cycle = cycleOf(view, vm);
  if (action === 'now' && cycle?.phase === 'Provisioning') {
    throw new Failure(
      `vm ${vm} has already been recreated (replacement ${cycle.attempt}), and is watched until it runs well: no delay is left to skip`,
    );
  }
}

/** Describes the VM's current healing state. */
export function formatCycle(view: HealView, vm: string, now: number): string {
  const cycle = cycleOf(view, vm);
  if (cycle !== undefined) {
    const next = cycle.nextAt === null ? '' : `, next try ${nextTry(cycle.nextAt, now)}`;
    return `replacement ${cycle.attempt}, ${cycle.phase}${next}: ${cycle.message}`;
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
  const explanation = whyNoCycle(view, vm);
  if (explanation !== null) return new Failure(explanation);
  const kube = await session.kube();
  const found = await ifThere(kube.get(VirtualMachines, { namespace: view.namespace, name: vm }));
  if (found === undefined)
    return new Failure(
      `there is no vm ${vm} in ${view.namespace}, and pool ${view.pool} is not replacing a VM of that name`,
    );
  const owner = controllerOf(found);
  if (owner?.name !== view.pool || !isOwnerReferenceTo(owner, VirtualMachinePools))
    return new Failure(`vm ${vm} does not belong to pool ${view.pool}`);
  if (isOptedOut(found.metadata, Date.now()))
    return new Failure(
      `vm ${vm} will not be replaced: its owner opted out of disruption (${DO_NOT_DISRUPT_ANNOTATION})`,
    );
  return new Failure(formatNoCycle(view, vm));
}

/** Why the VM has no cycle in progress; null if the status does not say it of this VM. */
export function whyNoCycle(view: HealView, vm: string): string | null {
  const last = endedOf(view, vm);
  if (last !== null) {
    const again = `\`drover heal now pool ${view.pool} ${vm}\` heals it again`;
    return `vm ${vm} is left as it is already (${formatFinished(last)}): ${again}`;
  }
  const found = view.notReplaced.find((one) => one.vm === vm);
  if (found === undefined) return null;
  const text = formatNotReplaced(found);
  return found.waitsFor === undefined ? `vm ${text}` : `no replacement of vm ${vm} has begun: ${text}`;
}

/**
 * For a VM that the status doesn't name: it is known not to be unhealthy only if the status names all unhealthy VMs.
 */
export function formatNoCycle({ pool, notListed, suspended }: HealView, vm: string): string {
  const none = `no replacement of vm ${vm} is in progress`;
  if (notListed === 0) {
    const others = `\`drover heal status pool ${pool}\` lists unhealthy VMs`;
    return `${none}, and by the rules of pool ${pool} it is not unhealthy: ${others}`;
  }
  const omitted = `the status of pool ${pool} leaves out ${notListed} of the VMs that are not replaced`;
  const message = suspended === null ? '' : `; healing is suspended: ${suspended.message}`;
  return `${none}, and whether it waits for one is not known: ${omitted}${message}`;
}

function formatFinished({ end, attempts, message }: HealView['finished'][number]): string {
  if (end === 'Healed') return `healed after ${replacements(attempts)}: ${message}`;
  // The reason for giving up already begins with the end.
  if (end === 'GivenUp') return message;
  const how = { Left: 'left as it is', Skipped: 'skipped', Refused: 'its deletion was refused' }[end];
  return `${how}${attempts === 0 ? '' : ` after ${replacements(attempts)}`}: ${message}`;
}

const replacements = (count: number): string => `${count} ${count === 1 ? 'replacement' : 'replacements'}`;
