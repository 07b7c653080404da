import {
  allHandlersFinished,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { HealActivities } from '../activities/heal.ts';
import type { PoolKey } from '../activities/pool.ts';
import type { HealingStatus } from '../api/pool.ts';
import { healingDelayMs } from '../decisions/healing-backoff.ts';
import type { CycleRules, Verdict } from '../decisions/healing-plan.ts';
import { cycleNews, healHold, healNow, healSkip, poolIdOf, verdict, type Asking, type CycleNews, type PoolRef } from './messages.ts';
import { DroverPhase } from './search-attributes.ts';

export interface HealVmInput {
  ref: PoolRef;
  key: PoolKey;
  vm: { name: string; uid: string };
  /** Which replacement this is, since the VM was last well; from 1. */
  attempt: number;
  /** What is wrong with the VM, in KubeVirt's words. */
  why: string;
  rules: CycleRules;
  held: boolean;
  /** Verdicts that came while the last attempt ended. */
  verdicts?: Verdict[];
  /** The failures before, newest last: a person may ask weeks later. */
  past?: string[];
}

const { removeSickVm } = proxyActivities<HealActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '10s',
  // Tried until it is done: the cycle can't go on without.
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});

type End = HealingStatus['spent'][number]['end'];
const PAST_KEPT = 50;

/**
 * One healing cycle of one VM: replaces it and its disks, and again after twice the delay for as long as the new one is sick as
 * well. The pool's workflow makes the new VM and watches it; it tells this one what becomes of it.
 */
export async function healVm(input: HealVmInput): Promise<{ end: End; attempts: number }> {
  const { ref, key, rules } = input;
  const past = [...(input.past ?? []), `${at()} attempt ${input.attempt}: ${input.why}`].slice(-PAST_KEPT);
  const { name } = input.vm;
  let held = input.held;
  let hurry = false;
  let skipped: Asking | null = null;
  const verdicts: Verdict[] = [...(input.verdicts ?? [])];
  setHandler(verdict, (told) => void verdicts.push(told), { description: 'What has become of the VM.' });
  setHandler(healHold, (isHeld) => void (held = isHeld), { description: 'Begin no replacement while this is true.' });
  setHandler(healNow, () => void (hurry = true), { description: 'Do not wait for the rest of the delay.' });
  setHandler(healSkip, (asked?: Asking | null) => void (skipped = asked ?? {}), { description: 'Leave the VM as it is.' });

  const tell = (news: CycleNews): Promise<void> =>
    getExternalWorkflowHandle(poolIdOf(ref))
      .signal(cycleNews, news)
      .catch((error: unknown) => log.warn("the pool's workflow is not there to be told", { error: String(error) }));
  const left = (): Extract<Verdict, { verdict: 'Left' }> | undefined => verdicts.find((told) => told.verdict === 'Left');
  const isOver = (): boolean => skipped !== null || left() !== undefined;
  const show = (doing: string): void => setCurrentDetails(details(input, past, doing));

  const cycle = async (): Promise<{ end: End; uid: string; why: string }> => {
    const { uid } = input.vm;
    show(held ? 'healing is held' : 'deletes the VM');
    await condition(() => !held || hurry || isOver());
    if (isOver()) return over(uid);
    await removeSickVm.executeWithOptions({ summary: `delete ${name}: ${input.why}`.slice(0, 180) }, [key, input.vm, rules.preserveStorage]);
    show('waits until the VM and its disks are gone');
    await condition(() => verdicts.some((told) => told.verdict === 'Gone') || isOver());
    if (isOver()) return over(uid);

    const delay = healingDelayMs(rules.backoff, input.attempt, Math.random());
    const nextAt = new Date(Date.now() + delay).toISOString();
    await tell({ vm: name, news: 'Waits', nextAt });
    show(`waits until ${nextAt} before it is made anew`);
    await condition(() => hurry || isOver(), delay, { summary: `the delay before replacement ${input.attempt}` });
    await condition(() => !held || hurry || isOver());
    if (isOver()) return over(uid);

    await tell({ vm: name, news: 'Provision' });
    show('the new VM is made, and watched until it runs well');
    const isJudged = (): boolean => verdicts.some((told) => told.verdict === 'Well' || told.verdict === 'Sick');
    await condition(() => isJudged() || isOver());
    const judged = verdicts.find((told) => told.verdict === 'Well' || told.verdict === 'Sick');
    if (judged === undefined) return over(uid);
    if (judged.verdict === 'Well') return { end: 'Healed', uid, why: input.why };
    if (judged.verdict !== 'Sick') return over(uid);
    if (rules.maxAttempts !== null && input.attempt >= rules.maxAttempts) {
      return { end: 'GivenUp', uid: judged.uid, why: `given up after ${input.attempt} replacements: ${judged.why}` };
    }
    await condition(allHandlersFinished);
    // Each attempt is a run of its own: the history stays short, however long the VM stays sick.
    return continueAsNew<typeof healVm>({ ...input, vm: { name, uid: judged.uid }, attempt: input.attempt + 1, why: judged.why, held, past, verdicts: verdicts.slice(verdicts.indexOf(judged) + 1) });
  };
  const over = (uid: string): { end: End; uid: string; why: string } => {
    const why = left()?.why;
    return why === undefined ? { end: 'Skipped', uid, why: `skipped by ${skipped?.by ?? 'somebody'}` } : { end: 'Left', uid, why };
  };

  const { end, uid, why } = await cycle();
  show(`has ended: ${end}: ${why}`);
  upsertSearchAttributes([{ key: DroverPhase, value: end }]);
  await tell({ vm: name, news: 'Ended', end, attempts: end === 'Healed' || end === 'GivenUp' ? input.attempt : input.attempt - 1, uid, why });
  log.info('a healing cycle has ended', { vm: name, end, run: workflowInfo().runId });
  return { end, attempts: input.attempt };
}

const at = (): string => new Date(Date.now()).toISOString();

function details({ vm, attempt, rules, why }: HealVmInput, past: readonly string[], doing: string): string {
  const most = rules.maxAttempts === null ? '' : ` of at most ${rules.maxAttempts}`;
  return [`**${vm.name}** is sick: ${why}`, `Replacement ${attempt}${most}: ${doing}`, ...past.toReversed().map((line) => `- ${line}`)].join('\n\n');
}
