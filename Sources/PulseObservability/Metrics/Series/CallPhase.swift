// SPDX-License-Identifier: MIT

public import PulseCore

/// A phase of an exchange; the cases are in the order in which the phases happen.
public enum CallPhase: String, Sendable, Hashable, CaseIterable {
    /// Waiting for a connection slot.
    case queued
    /// Looking up the host's addresses.
    case nameResolution
    /// Opening the connection, without the TLS handshake.
    case connecting
    /// The TLS handshake.
    case securing
    /// Sending the request, up to its last byte.
    case sending
    /// From the request's last byte to the answer's first.
    case waiting
    /// From the answer's first byte to its last.
    case receiving
}

/// One phase of an exchange and its time.
public struct PhaseTiming: Sendable, Hashable {
    /// The phase that was measured.
    public let phase: CallPhase
    /// Its begin, in seconds from the exchange's start.
    public let start: TimeInterval
    /// How long it took, in seconds.
    public let duration: TimeInterval
}

extension TransferTimings {
    /// The phases that were measured, each from the end of the one before. An end that is NaN or infinite, or lies
    /// before the previous one, is left out.
    public var phases: [PhaseTiming] {
        var phases: [PhaseTiming] = []
        forEachPhase { phases.append(PhaseTiming(phase: $0, start: $1, duration: $2)) }
        return phases
    }

    /// Calls `body` with each phase, without an array: this runs for every call.
    func forEachPhase(_ body: (CallPhase, _ start: TimeInterval, _ duration: TimeInterval) -> Void) {
        var last: TimeInterval = 0
        func end(_ phase: CallPhase, _ seconds: TimeInterval?) {
            guard let seconds, seconds.isFinite, seconds >= last else { return }
            body(phase, last, seconds - last)
            last = seconds
        }
        end(.queued, queued)
        end(.nameResolution, nameResolved)
        end(.connecting, connected)
        end(.securing, secured)
        end(.sending, requestSent)
        end(.waiting, firstByte)
        end(.receiving, lastByte)
    }
}
