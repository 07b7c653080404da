/** What a person has said to a workflow, as it is kept and told. */
export interface Said {
  by: string;
  /** RFC 3339, of the workflow's clock. */
  at: string;
  why: string | null;
}

/** Of a run that people steer. */
export interface Steered {
  paused: Said | null;
  aborted: Said | null;
}
