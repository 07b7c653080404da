import { Gauge, type Registry } from 'prom-client';
import type { TransitionCounts } from '../../decisions/machine-types/transition.ts';

/**
 * Longer than the time between two looks at a transition, in milliseconds: after that, another worker follows the
 * transition, or it has ended.
 */
const STALE_MS = 90_000;

/** State of the machine type transitions that this worker follows. */
export class TransitionGauge {
  readonly #looks = new Map<string, { counts: TransitionCounts; at: number }>();

  constructor(registry: Registry) {
    const looks = this.#looks;
    const gauge = new Gauge({
      name: 'drover_machine_type_transition_vms',
      help: 'VMs in the scope of a machine type transition, by what is still to be done to them; reported by the worker that follows it.',
      labelNames: ['transition', 'state'],
      registers: [],
      collect() {
        this.reset();
        for (const [transition, { counts, at }] of looks) {
          if (at + STALE_MS < Date.now()) looks.delete(transition);
          else
            for (const [state, count] of Object.entries(counts) as [string, number][])
              this.set({ transition, state }, count);
        }
      },
    });
    registry.registerMetric(gauge);
  }

  readonly look = (id: string, counts: TransitionCounts): void => void this.#looks.set(id, { counts, at: Date.now() });
}
