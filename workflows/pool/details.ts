import type { Planned } from '../../activities/owners/plan-request.ts';
import { formatAllNotReplaced } from '../../decisions/healing/format.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { Wait } from '../../decisions/rollout/state/waits.ts';
import { formatRequest, reportLines } from '../../decisions/runs/report.ts';
import { activityDetails } from '../owners/details.ts';
import type { FailureBackoff } from '../owners/failure-backoff.ts';
import type { RolloutsState } from '../rollout/rollouts.ts';

/** Returns the Markdown that the Web UI shows for a pool. Failures come first, since the UI cuts the end off. */
export function poolDetails(
  planned: Planned,
  doing: readonly string[],
  failures: Pick<FailureBackoff, 'state' | 'retryAt'>,
  { batches }: RolloutsState,
): string {
  if (planned.gone) return 'The pool is deleted.';
  const { counts, phase } = planned;
  const [retry = '', ...activity] = activityDetails(doing, failures, counts.byState);
  return [
    `**${phase}**: ${counts.wanted} wanted, ${counts.present} present, ${counts.ready} ready, ${counts.updated} of the newest revision${counts.surge === 0 ? '' : ` + ${counts.surge} extra`}`,
    retry,
    ...blockedDetails(planned),
    ...drainDetails(planned),
    ...rolloutDetails(planned, batches),
    ...healingDetails(planned),
    ...activity,
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}

/** What single VMs wait for, or are left for. */
const OF_VMS = new Set<Wait['kind']>(['Vms', 'Stuck', 'Left']);

function rolloutDetails(planned: Planned & { gone: false }, batches: RolloutsState['batches']): string[] {
  if (planned.rollout.phase === 'Complete' && batches.length === 0) return [];
  const { phase, target, state, waits } = planned.rollout;
  const { paused, halted, failures } = state;
  const { true: ofVms = [], false: full = [] } = Object.groupBy(waits, ({ kind }) => String(OF_VMS.has(kind)));
  const lines = reportLines(
    {
      phase,
      failed: failures,
      inProgress: [],
      skipped: [],
      full: full.map(({ message }) => message),
      paused: paused === undefined ? null : { ...paused, reason: paused.reason ?? null },
      aborted: null,
    },
    {
      numbers: null,
      end: '',
      open: 0,
      isOver: false,
      isTripped: false,
      maxFailures: 0,
      failures: failures.length,
      faults: halted === undefined ? [] : [formatRequest(halted.kind, halted)],
      about: [
        ...ofVms.map(({ message }) => message),
        ...batches.map(
          ({ n, revision, vms }) => `batch ${n} to ${revision}: ${formatNames(vms.map(({ name }) => name))}`,
        ),
      ],
    },
  );
  return [`**Rollout of ${target}**: ${phase}`, ...lines.map(({ text }) => escapeMarkdown(text))];
}

const blockedDetails = ({ blocked }: Planned & { gone: false }): string[] =>
  blocked === undefined ? [] : [`**Scale-in** is blocked: ${escapeMarkdown(blocked)}`];

const drainDetails = ({ draining }: Planned & { gone: false }): string[] =>
  draining === undefined ? [] : [`**Drain**: ${escapeMarkdown(draining)}`];

function healingDetails({ healing }: Planned & { gone: false }): string[] {
  const { state, suspended, notReplaced, notListed } = healing;
  const { cycles } = state;
  const sentences = formatAllNotReplaced(notReplaced.filter(({ waitsFor }) => waitsFor !== undefined));
  const more = sentences.slice(MAX_WAITS_LISTED).reduce((sum, { of }) => sum + of, notListed);
  return [
    state.paused === undefined ? '' : `**Healing** is ${escapeMarkdown(formatRequest('paused', state.paused))}`,
    suspended === null ? '' : `**Healing** is suspended: ${suspended}`,
    ...cycles
      .slice(0, MAX_CYCLES_LISTED)
      .map(
        ({ vm, attempt, phase, nextAt, message }) =>
          `- heals ${vm}, replacement ${attempt}: ${phase}${nextAt === undefined ? '' : ` until ${nextAt}`}: ${escapeMarkdown(message)}`,
      ),
    cycles.length > MAX_CYCLES_LISTED ? `- and ${cycles.length - MAX_CYCLES_LISTED} more` : '',
    ...sentences.slice(0, MAX_WAITS_LISTED).map((one) => `- ${escapeMarkdown(one.sentence)}`),
    more === 0 ? '' : `- and ${more} more`,
  ];
}

const MAX_WAITS_LISTED = 20;
const MAX_CYCLES_LISTED = 10;
