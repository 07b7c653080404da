import { DEFAULT_REPLICAS } from './pool-defaults.ts';

/** A pool or a set, as far as it says how many members it wants. */
export interface Wanting {
  spec: { replicas?: number };
  status?: { desiredReplicas?: number };
}

/**
 * Returns how many members a pool or a set wants. A spec without the number leaves it as it was: the API server fills
 * in no default, by which an apply that takes the number out of a manifest would reduce a fleet to one VM.
 */
export const wantedReplicas = ({ spec, status }: Wanting): number =>
  spec.replicas ?? status?.desiredReplicas ?? DEFAULT_REPLICAS;
