/** A request of a user to a workflow, as it is kept and reported. */
export interface UserRequest {
  by: string;
  /** RFC 3339, by the workflow's clock. */
  at: string;
  reason: string | null;
}

/** The state of a run that users control. */
export interface ControlledRun {
  paused: UserRequest | null;
  aborted: UserRequest | null;
}
