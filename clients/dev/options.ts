/** The flags of `drover dev`. */
export interface DevOptions {
  ephemeral?: boolean;
  simulator: boolean;
  worker: boolean;
  detach?: boolean;
  kubevirtCrds?: string;
  temporalPort?: number;
  uiPort?: number;
  apiserverPort?: number;
  simulatorPort?: number;
  /** Set by `--detach` for the process that it starts, which reports its progress to its starter. */
  background?: boolean;
}
