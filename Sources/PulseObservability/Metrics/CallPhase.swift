// SPDX-License-Identifier: MIT

public import PulseCore

/// What an exchange spends its time with, in the order in which it happens.
public enum CallPhase: String, Sendable, Hashable, CaseIterable {
    /// Waiting for a connection slot.
    case queued
    case nameResolution
    case connecting
    /// The TLS handshake.
    case securing
    case sending
    /// From the request's last byte to the answer's first.
    case waiting
    case receiving
}

/// One phase of an exchange; seconds from the exchange's start.
public struct PhaseTiming: Sendable, Hashable {
    public let phase: CallPhase
    public let start: TimeInterval
    public let duration: TimeInterval
}

extension TransferTimings {
    /// The phases that were measured, each from the end of the one before. An end that is no number, or lies before the
    /// one before it, is left out.
    public var phases: [PhaseTiming] {
        var phases: [PhaseTiming] = []
        forEachPhase { phases.append(PhaseTiming(phase: $0, start: $1, duration: $2)) }
        return phases
    }

    /// Without an array: this is on the way of every call.
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
