// SPDX-License-Identifier: MIT

// Brings what is below it, as PulseNetworking does.
@_exported import PulseCalls
