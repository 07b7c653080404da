import type { StepCheck } from '../../../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../../../api/resources.ts';
import { checkRules, type Look } from '../../../../decisions/rollout/checks/check.ts';
import { revisionOf } from '../../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../../decisions/template/template.ts';
import type { Pool } from '../../facts.ts';
import { Check } from '../../guarantees/check.ts';
import type { Write } from '../../world/api-server.ts';

/** From a look to the status by which its step is passed. */
const LATE_MS = 30_000;

/** Checks that a step with a check passes, and fails, only by what workers have seen (G44). */
export class CheckGuarantees extends Check {
  /** What workers have seen of the checks of a pool, by its UID, the last first. */
  readonly #looks = new Map<string, { at: number; outcome: Look['outcome'] }[]>();

  onLook(pool: string, outcome: Look['outcome']): void {
    this.#looks.set(pool, [{ at: this.now, outcome }, ...(this.#looks.get(pool) ?? [])]);
  }

  onWrite({ resource, before, after }: Write): void {
    if (resource !== VirtualMachinePools || before === undefined || after === undefined) return;
    const [old, now] = [(before as Pool).status?.rollout, (after as Pool).status?.rollout];
    const { spec, metadata } = before as Pool;
    if (old === undefined || now?.revision !== old.revision || old.revision !== revisionOf(poolTemplate(spec))) return;
    const check = spec.rollout?.steps?.[old.step]?.then.check;
    const isAsked = now.handledRequests?.at(-1)?.digest !== old.handledRequests?.at(-1)?.digest;
    if (check === undefined || isAsked) return;
    if (now.step > old.step) this.#passed(metadata.uid, check);
    if (old.halted === undefined && now.halted?.reason?.startsWith('the check of step') === true)
      this.#failed(metadata.uid);
  }

  #passed(pool: string, check: StepCheck): void {
    const { holdsForMs, gapMs } = checkRules(check);
    const looks = this.#looks.get(pool) ?? [];
    const end = looks[0];
    if (end?.outcome !== 'Holds' || this.now - end.at > LATE_MS) return this.broken('G44', `its check did not hold`);
    let heldAt = end.at;
    for (const { at, outcome } of looks) {
      if (outcome === 'Fails') return this.broken('G44', `its check did not hold for its time`);
      if (heldAt - at > gapMs + LATE_MS) return this.broken('G44', `nobody knows whether its check held`);
      if (outcome === 'Holds') heldAt = at;
      // A look takes some time, which differs.
      if (end.at - heldAt >= holdsForMs - LATE_MS / 2) return;
    }
    this.broken('G44', 'nobody has looked at its check for its time');
  }

  #failed(pool: string): void {
    const [last] = this.#looks.get(pool) ?? [];
    if (last?.outcome !== 'Fails') this.broken('G44', 'a check has failed that nobody saw fail');
  }
}
