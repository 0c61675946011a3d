// SPDX-License-Identifier: MIT

// Re-exported so that an import of one room brings the client.
@_exported import PulseCalls
