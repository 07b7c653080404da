import { KubeError } from '../../kubernetes/errors.ts';

const DISK_HELD = 'DiskHeld';

/** The refusal of an act on a disk that is somebody else's, as the API server would refuse it. */
export const diskHeld = (message: string): KubeError => new KubeError(422, DISK_HELD, message);

/** Reports whether it is such a refusal. */
export const isDiskHeld = (error: Error): boolean => error instanceof KubeError && error.reason === DISK_HELD;
