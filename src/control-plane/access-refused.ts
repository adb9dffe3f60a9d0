import { AppError } from '../protocol/app-error.ts';

/** A try to give or get more than one has. Whoever answers it writes it down (`AccessRefused`): it may be an attack. */
export class AccessRefusedError extends AppError {
  constructor(message: string) {
    super('forbidden', message);
  }
}
