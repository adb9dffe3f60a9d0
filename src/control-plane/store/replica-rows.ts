/** What every process over this database must have alike, such as the master key: a name and what it was first. */
export interface InstallationRow {
  name: string;
  value: string;
}

/** Who writes to something that takes one writer. Whoever takes it over puts another token there. */
export interface LeaseRow {
  name: string;
  /** Of this taking: a write that was begun under another one is refused. */
  token: string;
  /** The replica, for people. */
  holder: string;
  taken_at: string;
}
