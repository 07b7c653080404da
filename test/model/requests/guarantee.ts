import { ROLLOUT_REQUEST_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { membershipRequestOf } from '../../../decisions/membership/membership-request.ts';
import { digestOf } from '../../../decisions/owners/request.ts';
import type { GivenInput } from '../../../decisions/pool/on-record.ts';
import type { Pool } from '../facts.ts';
import { Check } from '../guarantees/check.ts';
import type { Write } from '../world/api-server.ts';
import type { Seen } from '../world/worker.ts';

/** What an answer to a request was. */
interface Answered {
  at: string;
  outcome: string;
}

/**
 * Checks that a request to a rollout has one answer, that nothing but a request ends or promotes a rollout, and that
 * what a plan has refused is not carried out by a later one, whether or not that answer was written.
 */
export class RequestGuarantees extends Check {
  /** By the UID of the pool and the digest of the request. */
  readonly #answers = new Map<string, Answered>();
  /** Requests that have stood on pools, in the same way. */
  readonly #made = new Map<string, string>();

  /** Requests that plans have refused, in the same way. */
  readonly #refused = new Set<string>();

  onPlan(planned: Seen, inputOf: () => GivenInput | undefined): void {
    if (planned.gone) return;
    const { key, status, rollout, healing, steps } = planned;
    const answers = [status?.membership, rollout.state, healing.state].flatMap((one) => one?.handledRequests ?? []);
    for (const { digest, action, outcome } of answers) {
      const request = `${key.uid} ${digest}`;
      if (outcome !== 'Done') this.#refused.add(request);
      else if (this.#refused.has(request)) this.broken('G36', `what was refused is done: ${action}`);
    }
    const pool = inputOf()?.pool;
    const found = pool === undefined ? null : membershipRequestOf(pool);
    const isBegun = steps.some(({ kind, reason }) => kind === 'changeMembers' && reason.endsWith('asks for it'));
    if (isBegun && found !== null && this.#refused.has(`${key.uid} ${found.digest}`))
      this.broken('G36', `what was refused is begun: ${found.action}`);
  }

  onWrite({ resource, before, after }: Write): void {
    if (resource !== VirtualMachinePools || after === undefined) return;
    const { metadata, status } = after as Pool;
    const text = metadata.annotations?.[ROLLOUT_REQUEST_ANNOTATION];
    if (text !== undefined) this.#made.set(`${metadata.uid} ${digestOf(text)}`, text);
    for (const { digest, at, outcome } of status?.rollout?.handledRequests ?? [])
      this.#answered(metadata.uid, digest, { at, outcome });
    this.#checkAbort(before as Pool | undefined, after as Pool);
  }

  #answered(uid: string, digest: string, answer: Answered): void {
    const key = `${uid} ${digest}`;
    const known = this.#answers.get(key);
    if (!this.#made.has(key)) this.broken('G36', `a request is answered that nobody has made: ${digest}`);
    if (known !== undefined && (known.at !== answer.at || known.outcome !== answer.outcome))
      this.broken('G36', `a request is handled twice: ${this.#made.get(key)}`);
    this.#answers.set(key, answer);
  }

  #checkAbort(before: Pool | undefined, { metadata, status }: Pool): void {
    const { halted, revision } = status?.rollout ?? {};
    if (halted?.kind !== 'Aborted' || before?.status?.rollout?.halted?.at === halted.at) return;
    const asked = [...this.#made].some(
      ([key, text]) =>
        key.startsWith(metadata.uid) &&
        text.includes('"abort"') &&
        text.includes(`"${revision}"`) &&
        this.#answers.get(key)?.at === halted.at,
    );
    if (!asked) this.broken('G36', `a rollout of ${metadata.name} is aborted, and nobody has asked for that`);
  }
}
