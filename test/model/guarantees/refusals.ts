import { runNow } from '../facts.ts';
import type { Call } from '../world/model-client.ts';
import { Check } from './check.ts';

const MINUTE_MS = 60_000;
/**
 * How often an owner may be refused in a minute: for each reason seven tries, of three VMs at most, and some more if
 * users change its spec, after which all is tried again. Without a delay there would be six hundred and more.
 */
const MOST = 80;
/** A workflow of a pool or a set, or of what they begin: the first four parts are those of the owner. */
const PARTS = 4;

/** Checks that what the API server refuses is tried again less and less often. */
export class RefusalGuarantees extends Check {
  /** When each owner was refused within the last minute, by its workflow's id. */
  readonly #times = new Map<string, number[]>();

  onRefused({ verb, key, process }: Call): void {
    const { now } = this;
    const owner = (runNow() ?? '').split('/').slice(0, PARTS).join('/');
    this.world.say(`${process.name} is refused to ${verb} ${key.name}, for ${owner}`);
    const times = (this.#times.get(owner) ?? []).filter((time) => time > now - MINUTE_MS);
    this.#times.set(owner, [...times, now]);
    if (times.length >= MOST)
      this.broken('G25', `${owner} is refused for the ${times.length + 1}th time in a minute: ${verb} ${key.name}`);
  }
}
